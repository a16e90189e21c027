import { createRootRoute, createRoute } from "@tanstack/react-router";
import { CrashPage } from "./CrashPage";
import { loadPage } from "./loadPage";
import { Shell } from "./Shell";

export const rootRoute = createRootRoute({ errorComponent: CrashPage });

/** Everything that needs somebody to be logged in. */
export const shellRoute = createRoute({ getParentRoute: () => rootRoute, id: "shell", component: Shell });

export const setPasswordRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/set-password",
  component: loadPage(() => import("./SetPasswordPage"), "SetPasswordPage"),
});

/** Where a one-time link of `comfyfleet up` leads. */
export const enterRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/enter",
  component: loadPage(() => import("./EnterPage"), "EnterPage"),
});
