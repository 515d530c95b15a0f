import { number, type Plain, text } from '../objects/plain.ts';
import type { Findings } from './findings.ts';
import { subdomainProblems } from './names.ts';

export function webhookServiceFindings(findings: Findings, service: Plain, at: string): void {
  // kube-apiserver swaps the fields `name` and `namespace` of a service in its errors.
  if (text(service, 'namespace') === '') findings.required(`${at}.name`);
  if (text(service, 'name') === '') findings.required(`${at}.namespace`);
  const port = number(service, 'port');
  if (port !== undefined && (port < 1 || port > 65_535)) {
    findings.invalid(`${at}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive');
  }
  const { path } = service;
  if (typeof path !== 'string' || path === '/' || path === '') return;
  const field = `${at}.path`;
  if (path === '//') {
    findings.invalid(field, path, 'segment[0] may not be empty');
    return;
  }
  if (!path.startsWith('/')) findings.invalid(field, path, "must start with a '/'");
  const steps = path.slice(1).replace(/\/$/, '').split('/');
  for (const [index, step] of steps.entries()) {
    if (step === '') {
      findings.invalid(field, path, `segment[${index}] may not be empty`);
      continue;
    }
    const problems = subdomainProblems(step);
    for (const problem of problems) findings.invalid(field, path, `segment[${index}]: ${problem}`);
  }
}

const URL_FORM = 'desired format: https://host[/path]';

const URL_PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?(.*)$/is;

export function webhookUrlFindings(findings: Findings, url: string, at: string): void {
  const [, scheme = '', authority = '', rest = ''] = URL_PARTS.exec(url) ?? [];
  const problem = urlProblem(url, scheme, authority, rest);
  if (problem !== undefined) {
    findings.required(at, `url must be a valid URL: parse ${JSON.stringify(url)}: ${problem}; ${URL_FORM}`);
    return;
  }
  const shown = scheme.toLowerCase();
  if (shown !== 'https') findings.invalid(at, shown, `'https' is the only allowed URL scheme; ${URL_FORM}`);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host === '') findings.invalid(at, host, `host must be specified; ${URL_FORM}`);
  if (authority.includes('@')) {
    findings.invalid(
      at,
      authority.slice(0, authority.lastIndexOf('@')),
      'user information is not permitted in the URL',
    );
  }
  const [beforeFragment = '', ...fragment] = rest.split('#');
  const [, ...query] = beforeFragment.split('?');
  if (fragment.join('#') !== '') {
    findings.invalid(at, fragment.join('#'), 'fragments are not permitted in the URL');
  }
  if (query.join('?') !== '') findings.invalid(at, query.join('?'), 'query parameters are not permitted in the URL');
}

/** Returns the reason why Go cannot parse a URL. */
function urlProblem(url: string, scheme: string, authority: string, rest: string): string | undefined {
  if ([...url].some((letter) => letter < ' ' || letter === '\x7f')) return 'net/url: invalid control character in URL';
  if (url.startsWith(':')) return 'missing protocol scheme';
  const isRelative = scheme === '' && !rest.startsWith('/') && authority === '';
  if (isRelative && (url.split(/[/?]/)[0] ?? '').includes(':')) return 'first path segment in URL cannot contain colon';
  const badEscape = /%(?![0-9a-f]{2})(.{0,2})/is.exec(`${authority}${rest.split('?')[0]}`);
  if (badEscape !== null) return `invalid URL escape ${JSON.stringify(badEscape[0])}`;
  const [user, host = ''] = [
    authority.slice(0, authority.lastIndexOf('@') + 1),
    authority.slice(authority.lastIndexOf('@') + 1),
  ];
  if (/[^A-Za-z0-9\-._:~!$&'()*+,;=%@]/.test(user)) return 'net/url: invalid userinfo';
  const wrong = /[ \\^`{|}]/.exec(host);
  if (wrong !== null) return `invalid character ${JSON.stringify(wrong[0])} in host name`;
  if (host.startsWith('[') && !host.includes(']')) return "missing ']' in host";
  const port = /:([^:\]]*)$/.exec(host)?.[0];
  return port !== undefined && /[^0-9]/.test(port.slice(1))
    ? `invalid port ${JSON.stringify(port)} after host`
    : undefined;
}
