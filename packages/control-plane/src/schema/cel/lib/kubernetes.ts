import { LiteralMap, NONE, type Opaque, Optional } from '../runtime/values.ts';
import { BOOL, DOUBLE, INT, listOf, mapOf, opaque, optionalOf, STRING } from '../types/types.ts';
import { type Cidr, type Ip, parseCidr, parseIp } from './net.ts';
import { fail, fn, method, type Overload } from './overload.ts';
import { parseQuantity, Quantity } from './quantity.ts';
import { regExp } from './standard.ts';

const QUANTITY = opaque('kubernetes.Quantity');
const URL_TYPE = opaque('kubernetes.URL');
const IP = opaque('net.IP');
const CIDR = opaque('net.CIDR');
const FORMAT = opaque('kubernetes.NamedFormat');
const SEMVER = opaque('kubernetes.Semver');

const quantityOf = (text: string): Quantity =>
  parseQuantity(text) ??
  fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");

const escapeKey = fn('jsonpatch.escapeKey', [STRING], STRING, (key: string) =>
  key.replaceAll('~', '~0').replaceAll('/', '~1'),
);

const quantities: Overload[] = [
  fn('isQuantity', [STRING], BOOL, (text: string) => parseQuantity(text) !== undefined),
  fn('quantity', [STRING], QUANTITY, quantityOf),
  method('sign', [QUANTITY], INT, (q: Quantity) => BigInt(q.sign())),
  method('isInteger', [QUANTITY], BOOL, (q: Quantity) => q.asInteger() !== undefined),
  method('asInteger', [QUANTITY], INT, (q: Quantity) => q.asInteger() ?? fail('cannot convert value to integer')),
  method('asApproximateFloat', [QUANTITY], DOUBLE, (q: Quantity) => q.asFloat()),
  method('isGreaterThan', [QUANTITY, QUANTITY], BOOL, (a: Quantity, b: Quantity) => a.compare(b) > 0),
  method('isLessThan', [QUANTITY, QUANTITY], BOOL, (a: Quantity, b: Quantity) => a.compare(b) < 0),
  method('compareTo', [QUANTITY, QUANTITY], INT, (a: Quantity, b: Quantity) => BigInt(a.compare(b))),
  method('add', [QUANTITY, QUANTITY], QUANTITY, (a: Quantity, b: Quantity) => a.plus(b)),
  method('add', [QUANTITY, INT], QUANTITY, (a: Quantity, b: bigint) => a.plus(Quantity.ofInteger(b))),
  method('sub', [QUANTITY, QUANTITY], QUANTITY, (a: Quantity, b: Quantity) => a.minus(b)),
  method('sub', [QUANTITY, INT], QUANTITY, (a: Quantity, b: bigint) => a.minus(Quantity.ofInteger(b))),
];

class Url implements Opaque {
  readonly opaque = 'kubernetes.URL';
  readonly text: string;
  readonly url: URL | undefined;

  constructor(text: string, url: URL | undefined) {
    this.text = text;
    this.url = url;
  }

  equals(other: unknown): boolean {
    return other instanceof Url && other.text === this.text;
  }

  toString(): string {
    return this.text;
  }
}

/** Parses a URL like `url.ParseRequestURI` of Go: an absolute URL or an absolute path. */
function parseUrl(text: string): Url | undefined {
  if (text === '' || /[\s]/.test(text)) return undefined;
  if (text.startsWith('/')) return new Url(text, URL.parse(text, 'http://-/') ?? undefined);
  if (!/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text)) return undefined;
  const url = URL.parse(text);
  return url === null ? undefined : new Url(text, url);
}

const authority = (url: Url): string =>
  /^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/(?:[^/?#@]*@)?([^/?#]*)/.exec(url.text)?.[1] ?? '';
const hostname = (host: string): string => host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');

function query(url: Url): LiteralMap {
  const map = new LiteralMap();
  const lists = new Map<string, string[]>();
  for (const [key, value] of url.url?.searchParams ?? []) lists.set(key, [...(lists.get(key) ?? []), value]);
  for (const [key, values] of lists) map.set(key, values);
  return map;
}

const urls: Overload[] = [
  fn('isURL', [STRING], BOOL, (text: string) => parseUrl(text) !== undefined),
  fn(
    'url',
    [STRING],
    URL_TYPE,
    (text: string) =>
      parseUrl(text) ?? fail(`URL parse error during conversion from string: parse "${text}": invalid URI for request`),
  ),
  method(
    'getScheme',
    [URL_TYPE],
    STRING,
    (url: Url) => /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(url.text)?.[1]?.toLowerCase() ?? '',
  ),
  method('getHost', [URL_TYPE], STRING, authority),
  method('getHostname', [URL_TYPE], STRING, (url: Url) => hostname(authority(url))),
  method('getPort', [URL_TYPE], STRING, (url: Url) => /:(\d+)$/.exec(authority(url))?.[1] ?? ''),
  method('getEscapedPath', [URL_TYPE], STRING, (url: Url) =>
    authority(url) !== '' && !/^[^:]+:\/\/[^/?#]*\//.test(url.text) ? '' : (url.url?.pathname ?? ''),
  ),
  method('getQuery', [URL_TYPE], mapOf(STRING, listOf(STRING)), query),
];

const ipOf = (text: string): Ip =>
  parseIp(text) ??
  fail(`IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): unable to parse IP`);
const cidrOf = (text: string): Cidr =>
  parseCidr(text) ??
  fail(`network address parse error during conversion from string: netip.ParsePrefix("${text}"): invalid`);

const networks: Overload[] = [
  fn('isIP', [STRING], BOOL, (text: string) => parseIp(text) !== undefined),
  fn('ip', [STRING], IP, ipOf),
  fn('ip.isCanonical', [STRING], BOOL, (text: string) => ipOf(text).toString() === text),
  fn('string', [IP], STRING, String),
  method('family', [IP], INT, (ip: Ip) => BigInt(ip.family)),
  method('isUnspecified', [IP], BOOL, (ip: Ip) => ip.value === 0n),
  method('isLoopback', [IP], BOOL, (ip: Ip) => ip.isLoopback()),
  method('isLinkLocalMulticast', [IP], BOOL, (ip: Ip) => ip.isLinkLocalMulticast()),
  method('isLinkLocalUnicast', [IP], BOOL, (ip: Ip) => ip.isLinkLocalUnicast()),
  method('isGlobalUnicast', [IP], BOOL, (ip: Ip) => ip.isGlobalUnicast()),
  fn('isCIDR', [STRING], BOOL, (text: string) => parseCidr(text) !== undefined),
  fn('cidr', [STRING], CIDR, cidrOf),
  fn('string', [CIDR], STRING, String),
  method('containsIP', [CIDR, STRING], BOOL, (cidr: Cidr, text: string) => cidr.contains(ipOf(text))),
  method('containsIP', [CIDR, IP], BOOL, (cidr: Cidr, ip: Ip) => cidr.contains(ip)),
  method('containsCIDR', [CIDR, STRING], BOOL, (cidr: Cidr, text: string) => cidr.containsCidr(cidrOf(text))),
  method('containsCIDR', [CIDR, CIDR], BOOL, (cidr: Cidr, other: Cidr) => cidr.containsCidr(other)),
  method('ip', [CIDR], IP, (cidr: Cidr) => cidr.ip),
  method('prefixLength', [CIDR], INT, (cidr: Cidr) => BigInt(cidr.bits)),
  method('masked', [CIDR], CIDR, (cidr: Cidr) => cidr.masked()),
];

class NamedFormat implements Opaque {
  readonly opaque = 'kubernetes.NamedFormat';
  readonly name: string;
  readonly check: (text: string) => string[];

  constructor(name: string, check: (text: string) => string[]) {
    this.name = name;
    this.check = check;
  }

  equals(other: unknown): boolean {
    return other instanceof NamedFormat && other.name === this.name;
  }

  toString(): string {
    return this.name;
  }
}

const pattern =
  (expression: string, max: number, detail: string) =>
  (text: string): string[] => {
    const problems: string[] = [];
    if (text.length > max) problems.push(`must be no more than ${max} bytes`);
    if (!regExp(`^(?:${expression})$`).test(text)) problems.push(detail);
    return problems;
  };

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const labelCheck = pattern(
  LABEL,
  63,
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL}')`,
);
const subdomainCheck = pattern(
  `${LABEL}(\\.${LABEL})*`,
  253,
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${LABEL}(\\.${LABEL})*')`,
);
const label1035Check = pattern(
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  63,
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
);
const labelValueCheck = pattern(
  '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?',
  63,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
);
const nameCheck = pattern(
  '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]',
  63,
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
);

const qualifiedNameCheck = (text: string): string[] => {
  const parts = text.split('/');
  if (parts.length > 2)
    return [
      "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    ];
  const [prefix, name] = parts.length === 2 ? parts : [undefined, parts[0]];
  const problems = prefix === undefined ? [] : subdomainCheck(prefix).map((problem) => `prefix part ${problem}`);
  return [...problems, ...nameCheck(name ?? '')];
};

/** Converts the check of a name to the check of a prefix for generated names. A prefix may end with a dash. */
const asPrefix =
  (check: (text: string) => string[]) =>
  (text: string): string[] =>
    check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const one =
  (holds: (text: string) => boolean, problem: string) =>
  (text: string): string[] =>
    holds(text) ? [] : [problem];

const formats: ReadonlyMap<string, NamedFormat> = new Map(
  (
    [
      ['dns1123Label', labelCheck],
      ['dns1123Subdomain', subdomainCheck],
      ['dns1035Label', label1035Check],
      ['dns1123LabelPrefix', asPrefix(labelCheck)],
      ['dns1123SubdomainPrefix', asPrefix(subdomainCheck)],
      ['dns1035LabelPrefix', asPrefix(label1035Check)],
      ['qualifiedName', qualifiedNameCheck],
      ['labelValue', labelValueCheck],
      ['uri', one((text) => parseUrl(text) !== undefined, 'invalid URI')],
      [
        'uuid',
        one(
          (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
          'does not match the UUID format',
        ),
      ],
      [
        'byte',
        one((text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text), 'invalid base64'),
      ],
      [
        'date',
        one((text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(new Date(text).getTime()), 'invalid date'),
      ],
      [
        'datetime',
        one((text) => /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(new Date(text).getTime()), 'invalid datetime'),
      ],
    ] as const
  ).map(([name, check]) => [name, new NamedFormat(name, check)]),
);

const validate = (format: NamedFormat, text: string): Optional => {
  const problems = format.check(text);
  return problems.length === 0 ? NONE : new Optional(true, problems);
};

const named: Overload[] = [
  ...[...formats.values()].map((format) => fn(`format.${format.name}`, [], FORMAT, () => format)),
  fn('format.named', [STRING], optionalOf(FORMAT), (name: string) => {
    const format = formats.get(name);
    return format === undefined ? NONE : new Optional(true, format);
  }),
  method('validate', [FORMAT, STRING], optionalOf(listOf(STRING)), validate),
];

class Semver implements Opaque {
  readonly opaque = 'kubernetes.Semver';
  readonly numbers: readonly bigint[];
  readonly pre: string;

  constructor(numbers: readonly bigint[], pre: string) {
    this.numbers = numbers;
    this.pre = pre;
  }

  compare(other: Semver): number {
    for (let i = 0; i < 3; i++) {
      const [a, b] = [this.numbers[i] ?? 0n, other.numbers[i] ?? 0n];
      if (a !== b) return a < b ? -1 : 1;
    }
    return comparePrerelease(this.pre, other.pre);
  }

  equals(other: unknown): boolean {
    return other instanceof Semver && this.compare(other) === 0;
  }

  toString(): string {
    return `${this.numbers.join('.')}${this.pre === '' ? '' : `-${this.pre}`}`;
  }
}

function comparePrerelease(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '') return 1;
  if (b === '') return -1;
  const [x, y] = [a.split('.'), b.split('.')];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const [left, right] = [x[i], y[i]];
    if (left === undefined) return -1;
    if (right === undefined) return 1;
    if (left === right) continue;
    const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
    if (leftIsNumber && rightIsNumber) return BigInt(left) < BigInt(right) ? -1 : 1;
    if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
    return left < right ? -1 : 1;
  }
  return 0;
}

function parseSemver(text: string, normalize = false): Semver | undefined {
  let source = text;
  if (normalize) {
    const parts = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(.*)$/.exec(text);
    if (parts !== null)
      source = `${[parts[1], parts[2] ?? '0', parts[3] ?? '0'].map((part) => BigInt(part ?? 0)).join('.')}${parts[4]}`;
  }
  const parts = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-.]+))?(?:\+[0-9A-Za-z-.]+)?$/.exec(source);
  if (parts === null) return undefined;
  return new Semver(
    [parts[1], parts[2], parts[3]].map((part) => BigInt(part ?? 0)),
    parts[4] ?? '',
  );
}

const semverOf = (text: string, normalize = false): Semver =>
  parseSemver(text, normalize) ?? fail(`No Major.Minor.Patch elements found`);

const semvers: Overload[] = [
  fn('isSemver', [STRING], BOOL, (text: string) => parseSemver(text) !== undefined),
  fn(
    'isSemver',
    [STRING, BOOL],
    BOOL,
    (text: string, normalize: boolean) => parseSemver(text, normalize) !== undefined,
  ),
  fn('semver', [STRING], SEMVER, semverOf),
  fn('semver', [STRING, BOOL], SEMVER, semverOf),
  ...['major', 'minor', 'patch'].map((name, at) =>
    method(name, [SEMVER], INT, (version: Semver) => version.numbers[at] ?? 0n),
  ),
  method('isGreaterThan', [SEMVER, SEMVER], BOOL, (a: Semver, b: Semver) => a.compare(b) > 0),
  method('isLessThan', [SEMVER, SEMVER], BOOL, (a: Semver, b: Semver) => a.compare(b) < 0),
  method('compareTo', [SEMVER, SEMVER], INT, (a: Semver, b: Semver) => BigInt(a.compare(b))),
];

/** The Kubernetes extensions of CEL: quantities, URLs, addresses, formats and versions. */
export const kubernetesLibrary: readonly Overload[] = [
  escapeKey,
  ...quantities,
  ...urls,
  ...networks,
  ...named,
  ...semvers,
];
