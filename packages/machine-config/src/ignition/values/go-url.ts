export interface GoUrl {
  readonly scheme: string;
  readonly opaque: string;
  readonly query: string;
}

/**
 * Parses a URL like Go's `url.Parse`. The class `URL` of JavaScript has other rules than Go's `url.Parse` (net/url,
 * parse and parseAuthority).
 */
export function parseGoUrl(text: string): GoUrl | undefined {
  const hash = text.indexOf('#');
  const url = hash < 0 ? text : text.slice(0, hash);
  if (hash >= 0 && !isEscaped(text.slice(hash + 1))) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
  if (/[\u0000-\u001f\u007f]/.test(url)) return undefined;
  if (url.startsWith(':')) return undefined;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1];
  const [, rest = '', query = ''] =
    /^([^?]*)\??([\s\S]*)$/.exec(scheme === undefined ? url : url.slice(scheme.length + 1)) ?? [];
  const read = { scheme: scheme?.toLowerCase() ?? '', opaque: '', query };
  if (!rest.startsWith('/')) {
    if (scheme !== undefined) return { ...read, opaque: rest };
    // Go refuses a colon in the first segment of a path without a scheme, as in `::` or ` data:,x`.
    return rest.split('/', 1)[0]?.includes(':') || !isEscaped(rest) ? undefined : read;
  }
  const withAuthority = rest.startsWith('//') && (scheme !== undefined || !rest.startsWith('///'));
  if (!withAuthority) return isEscaped(rest) ? read : undefined;
  const [, authority = '', path = ''] = /^\/\/([^/]*)([\s\S]*)$/.exec(rest) ?? [];
  return isAuthority(authority) && isEscaped(path) ? read : undefined;
}

export function queryValues(query: string, name: string): readonly string[] {
  return query.split('&').flatMap((pair) => {
    const [, key = '', value = ''] = /^([^=]*)=?([\s\S]*)$/.exec(pair) ?? [];
    return pair.includes(';') || key !== name || !isEscaped(value) ? [] : [value];
  });
}

const isEscaped = (text: string): boolean => !/%(?![0-9A-Fa-f]{2})/.test(text);

const USER_INFO = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/;

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf('@');
  const user = authority.slice(0, Math.max(at, 0));
  return isHost(authority.slice(at + 1)) && USER_INFO.test(user) && isEscaped(user);
}

function isHost(host: string): boolean {
  const port = host.startsWith('[') ? /\](:\d*)?$/ : /^[^:]*(?::\d*)?$/;
  // A host may contain several colons in Go, and only the text after the last colon must be a port.
  const checked = host.startsWith('[') ? host : host.slice(Math.max(host.lastIndexOf(':'), 0));
  if (!port.test(checked)) return false;
  // In a host, Go accepts escapes only for the percent sign and for bytes beyond ASCII.
  if (/%(?![89A-Fa-f][0-9A-Fa-f]|25)/.test(host)) return false;
  return !/[ \\^`{|}@?#]/.test(host);
}
