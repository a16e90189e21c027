import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

/** The one accent: marigold, on paper by day and on ink by night. */
const sun: MantineColorsTuple = [
  "#fff8e8", "#fdeecb", "#fadd9b", "#f7cb68", "#f4bc44", "#f2b33d", "#d9992a", "#a8711a", "#7d5210", "#5f3d08",
];
const dark: MantineColorsTuple = [
  "#e9e7e2", "#c4c1ba", "#a3a099", "#75726c", "#47453f", "#35332f", "#262521", "#1b1a17", "#141311", "#0e0d0c",
];
const gray: MantineColorsTuple = [
  "#faf9f7", "#f3f1ed", "#e9e6e0", "#dcd8d0", "#c5c0b6", "#a09b91", "#6f6b63", "#504d47", "#383631", "#211f1c",
];

export const theme = createTheme({
  colors: { sun, dark, gray },
  primaryColor: "sun",
  primaryShade: { light: 5, dark: 4 },
  autoContrast: true,
  luminanceThreshold: 0.32,
  black: "#1b1a17",
  defaultRadius: "md",
  cursorType: "pointer",
  fontFamily: "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  headings: { fontWeight: "650", sizes: { h1: { fontSize: "1.75rem", lineHeight: "1.2" }, h2: { fontSize: "1.25rem" } } },
  components: {
    Anchor: { defaultProps: { underline: "always" } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 250 } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45, blur: 2 } } },
    PasswordInput: { defaultProps: { visibilityToggleButtonProps: { "aria-label": "Show what is typed", tabIndex: 0 } } },
    // An icon says nothing to those who do not see it.
    CloseButton: { defaultProps: { "aria-label": "Close" } },
    Skeleton: { defaultProps: { radius: "md" } },
  },
});

// Mantine's tinted variants write in shade 6, which is too pale to read on their own tint.
const TINTED = ["sun", "green", "red", "blue", "orange", "yellow", "violet", "teal", "cyan", "grape", "gray"];

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-body": "#fcfbf9",
    "--mantine-color-dimmed": "#66625a",
    "--mantine-color-placeholder": "#77736b",
    "--mantine-color-error": "#b42318",
    "--mantine-color-anchor": "var(--mantine-color-sun-8)",
    "--mantine-color-sun-text": "var(--mantine-color-sun-8)",
    ...Object.fromEntries(TINTED.map((name) => [`--mantine-color-${name}-light-color`, `var(--mantine-color-${name}-9)`])),
    ...Object.fromEntries(TINTED.map((name) => [`--mantine-color-${name}-outline`, `var(--mantine-color-${name}-9)`])),
    // Of these even the darkest shade is too pale.
    "--mantine-color-green-light-color": "#1e6b2f",
    "--mantine-color-orange-light-color": "#9c3a0a",
    "--mantine-color-yellow-light-color": "#7a4500",
    "--mantine-color-teal-light-color": "#06664a",
    "--surface": "#ffffff",
    "--line": "#e4e0d8",
  },
  dark: {
    "--mantine-color-body": "#141311",
    "--mantine-color-dimmed": "#aaa79f",
    "--mantine-color-placeholder": "#8d8a83",
    "--mantine-color-error": "#ff8f80",
    "--mantine-color-anchor": "var(--mantine-color-sun-3)",
    ...Object.fromEntries(TINTED.map((name) => [`--mantine-color-${name}-light-color`, `var(--mantine-color-${name}-2)`])),
    "--surface": "#1c1b18",
    "--line": "#34322d",
  },
});
