const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => ENTITIES[char] ?? char);

/** Returns the HTML of the login page, which works without JavaScript. */
export const loginPage = (problem = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mcm log in</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main class="login">
<h1>mcm dashboard</h1>
${problem === '' ? '' : `<p class="gap" role="alert">${escaped(problem.trim())}</p>`}
<form method="post" action="/login">
<label for="token">Token that the API server of the cluster accepts</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button type="submit">Log in</button>
</form>
<p class="quiet">Create a token: <code>kubectl create token SERVICEACCOUNT</code></p>
</main>
</body>
</html>
`;
