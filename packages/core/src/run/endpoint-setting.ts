const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Environment variables, as `process.env` holds them. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * A cloud's endpoint, as an environment variable sets it: credentials and user data go there, so plain http is for
 * loopback addresses only, unless `MCM_ALLOW_PLAIN_HTTP=true` says otherwise.
 * @param paths Paths that it may have besides none; absent: any
 * @returns undefined where the variable is empty or not set
 * @throws Error that names the variable and the cure; the value is not told where it may hold credentials
 */
export function endpointSetting(name: string, variables: Variables, paths?: readonly string[]): URL | undefined {
  const value = variables[name];
  if (!value) return undefined;
  const url = URL.parse(value);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new Error(`${name} is no URL of https (or of http on this host): write https://host[:port]`);
  if (url.username || url.password)
    throw new Error(`${name} holds a user or a password, which no endpoint takes: write https://host[:port]`);
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname) && variables.MCM_ALLOW_PLAIN_HTTP !== 'true')
    throw new Error(
      `${name} is ${url.origin}, plain http, which is for loopback addresses only: use https, or set MCM_ALLOW_PLAIN_HTTP=true`,
    );
  const path = url.pathname.replace(/\/+$/, '');
  if (paths && path !== '' && !paths.includes(path))
    throw new Error(`${name} has the path ${path}, which would not be asked: write ${url.origin}`);
  return url;
}
