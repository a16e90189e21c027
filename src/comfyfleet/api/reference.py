"""The API reference at `/docs`. What it loads are files of the web app's build: no other host is asked for anything."""

from fastapi import APIRouter, Depends, Request
from fastapi.openapi.docs import get_swagger_ui_html, get_swagger_ui_oauth2_redirect_html
from fastapi.responses import HTMLResponse

from comfyfleet.api import web
from comfyfleet.api.policy import Public

PATH, SCHEMA_PATH = "/docs", "/openapi.json"
REDIRECT_PATH = f"{PATH}/oauth2-redirect"
SCRIPT, STYLE, ICON = "swagger-ui-bundle-*.js", "swagger-ui-*.css", "icon.svg"

router = APIRouter(include_in_schema=False, dependencies=[Depends(Public())])


@router.get(PATH)
async def reference(request: Request) -> HTMLResponse:
    script, style = web.built_asset(SCRIPT), web.built_asset(STYLE)
    if script is None or style is None:
        return HTMLResponse(web.NOT_BUILT, status_code=503)
    root = request.scope.get("root_path", "")
    return get_swagger_ui_html(
        openapi_url=f"{root}{SCHEMA_PATH}",
        title="comfyfleet: API reference",
        oauth2_redirect_url=f"{root}{REDIRECT_PATH}",
        swagger_js_url=f"{root}/assets/{script}",
        swagger_css_url=f"{root}/assets/{style}",
        swagger_favicon_url=f"{root}/assets/{ICON}",
    )


@router.get(REDIRECT_PATH)
async def oauth2_redirect() -> HTMLResponse:
    return get_swagger_ui_oauth2_redirect_html()
