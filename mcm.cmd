@echo off
rem Runs mcm from this clone.
rem An exclamation mark in an argument must not change, also after cmd /V:ON.
setlocal DisableDelayedExpansion
set "root=%~dp0"
if not exist "%root%apps\mcm\node_modules" (
  echo mcm: the dependencies are not installed; run once in "%root%": npx -y pnpm@12 install 1>&2
  exit /b 1
)
set "node=%root%node_modules\node\bin\node.exe"
if not exist "%node%" (
  set "node=node"
  node --version >nul 2>nul
  if errorlevel 1 (
    echo mcm requires Node.js 22.19 or newer, and there is no node in PATH: install Node.js 1>&2
    exit /b 1
  )
  node -e "var v=process.versions.node.split('.'),ok=v[0]>22||v[0]==22&&v[1]>=19;if(!ok)console.error('mcm requires Node.js 22.19 or newer, but this is Node.js '+process.versions.node+': install a newer Node.js');process.exit(ok?0:1)"
  if errorlevel 1 exit /b 1
)
if not defined NODE_COMPILE_CACHE set "NODE_COMPILE_CACHE=%root%node_modules\.cache\mcm"
"%node%" --conditions=source "%root%apps\mcm\src\main.ts" %*
