"""An app that is handed to uvicorn by name, through its Server."""

import uvicorn

if __name__ == "__main__":
    uvicorn.Server(uvicorn.Config("sdk2:mounted")).run()
