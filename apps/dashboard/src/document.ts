/** The HTML document for every address of the dashboard. */
export const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mcm dashboard</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<script src="/script.js" defer></script>
</head>
<body>
<noscript>The dashboard requires JavaScript. For a terminal, use: mcm tree</noscript>
</body>
</html>
`;
