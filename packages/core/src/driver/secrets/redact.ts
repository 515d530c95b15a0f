import { USER_DATA_KEY, UserDataPlaceholders } from '@mcm/api';
import { errorText, type Logger } from '@mcm/kube';
import { hideNeedles, needlesOf } from './normal-form.ts';
import { bytesOf, type SecretValue, type SecretValues, textsOf } from './secret-value.ts';

/**
 * Clouds, proxies and libraries quote requests in their errors, so the redaction removes secrets from texts. Secrets
 * are the values of Secret objects in many encodings, and texts that look like credentials.
 */

/** The redaction ignores shorter values of Secrets, because many of them are ordinary words. */
const SHORTEST_SECRET = 6;
const SHORTEST_LINE = 16;

/** Returns the minimum length of a secret value for a key of a Secret. */
export const shortestSecret = (key: string): number => (key === USER_DATA_KEY ? SHORTEST_LINE : SHORTEST_SECRET);

/**
 * The values of placeholders differ between machines, so the redaction searches for the text between the placeholders.
 */
const PLACEHOLDERS = new RegExp(Object.values(UserDataPlaceholders).join('|'));

/** Matches a JSON key before a placeholder, such as `","nodeName":"`. The key is not secret. */
const KEY_ONLY = /^[\s"',;{}[\]]*[\w.-]+["']?\s*[:=]\s*["']?$/;

export function partsOfLine(line: string): readonly string[] {
  const parts = line.split(PLACEHOLDERS).map((part) => part.trim());
  return parts.length === 1 ? parts : parts.filter((part) => !KEY_ONLY.test(part));
}

/**
 * Matches the names of secret values in a JSON key file. Account names and addresses of a key file may appear in
 * errors.
 */
const SECRET_KEY = /(key|secret|token|password|passwd|pwd|passphrase|auth|credentials?|assertion)$/i;

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);
const base64 = (value: SecretValue): string => bytesOf(value).toString('base64');

const forms = (text: string): readonly string[] => {
  const url = encodeURIComponent(text.toWellFormed());
  return [text, escaped(text), escaped(escaped(text)), url, url.replaceAll('%20', '+')];
};

const encoded = (value: SecretValue): readonly string[] => [base64(value), bytesOf(value).toString('base64url')];

/** Clouds receive user data in base64, and may quote the base64 text in errors. */
const wholes = (value: string): readonly string[] =>
  [...new Set([value, value.trim()])].flatMap((each) => [each, ...encoded(each)]);

const DEEPEST_KEY = 8;

function* secretsWithin(found: unknown, isSecret: boolean, depth = 0): Generator<string> {
  if (typeof found === 'string') {
    if (isSecret) yield found;
    yield* within(found, depth + 1);
  }
  if (typeof found !== 'object' || found === null || depth > DEEPEST_KEY) return;
  for (const [key, each] of Object.entries(found)) {
    yield* secretsWithin(each, isSecret || (!Array.isArray(found) && SECRET_KEY.test(key)), depth + 1);
  }
}

/** Drivers parse a JSON key file, so an error may contain a single value of the file. */
function within(value: string, depth = 0): readonly string[] {
  if (!/^\s*[{[]/.test(value) || depth > DEEPEST_KEY) return [];
  try {
    return [...secretsWithin(JSON.parse(value), false, depth)];
  } catch {
    return [];
  }
}

/** Matches words with letters and digits, because such words are probably secrets. */
const OPAQUE_WORD = /^(?!.*:\/\/)(?=.*\d)(?=.*[a-z])\S{8,}$/i;
const ASSIGNED = /(?:pass\w*|pwd|secret\w*|token\w*|\w*key|auth\w*|cred\w*)["']?\s*(?:[:=]\s*|\s)["']?([^\s"']{4,})/i;
const OPAQUE_LINE = /^(?=.*\d)(?=.*[a-z])\S{6,}$/i;

/** Returns the possible secrets in a line of user data. */
function secretOfLine(line: string): readonly string[] {
  const assigned = ASSIGNED.exec(line)?.[1];
  return [...(assigned === undefined ? [] : [assigned]), ...(OPAQUE_LINE.test(line) ? [line] : [])];
}

const wordsOf = (value: string): readonly string[] =>
  /^\s*[{[]|\n\s*\S/.test(value)
    ? []
    : value
        .trim()
        .split(/\s+/)
        .filter((word) => OPAQUE_WORD.test(word));

function needlesOfValue(key: string, value: SecretValue): readonly string[] {
  const texts = textsOf(value);
  const whole = needlesOf(typeof value === 'string' ? value.trim() : value, SHORTEST_SECRET);
  const linesOf = (text: string): readonly string[] => text.split('\n').map((line) => line.trim());
  if (key === USER_DATA_KEY) {
    const lines = texts.flatMap(linesOf);
    const parts = lines.flatMap(partsOfLine);
    const long = parts.filter(({ length }) => length >= SHORTEST_LINE);
    return [
      ...whole,
      ...long.flatMap((line) => needlesOf(line, SHORTEST_LINE)),
      ...lines.flatMap(secretOfLine).flatMap((word) => needlesOf(word, SHORTEST_WORD_OF_LINE)),
    ];
  }
  const all = texts.flatMap((text) => [text, ...within(text)]);
  const pieces = all.flatMap((text) => [text.trim(), ...linesOf(text), ...wordsOf(text)]);
  return [
    ...whole,
    ...pieces.filter(({ length }) => length >= SHORTEST_SECRET).flatMap((each) => needlesOf(each, SHORTEST_SECRET)),
  ];
}

const SHORTEST_WORD_OF_LINE = 4;

function piecesOf(key: string, value: SecretValue): readonly string[] {
  const isUserData = key === USER_DATA_KEY;
  const texts = textsOf(value);
  const all = isUserData ? texts : texts.flatMap((text) => [text, ...within(text)]);
  const lines = all.flatMap((each) => each.split('\n').map((line) => line.trim()));
  const parts = isUserData ? lines.flatMap(partsOfLine) : [];
  const shortest = isUserData ? SHORTEST_LINE : SHORTEST_SECRET;
  const bytes = typeof value === 'string' ? [] : encoded(value);
  return [...all.flatMap(wholes), ...bytes, ...lines, ...parts]
    .filter(({ length }) => length >= shortest)
    .flatMap(forms);
}

type Secrets = SecretValues;

/** Values of Secrets that are ordinary words, and that the redaction must not remove. */
const CHOICES: Readonly<Record<string, readonly string[]>> = { managedIdentity: ['system', 'user'] };

const withoutChoices = (secrets: Secrets): Secrets =>
  Object.fromEntries(
    Object.entries(secrets).filter(([key, value]) => !CHOICES[key]?.includes(textsOf(value)[0]?.trim() ?? '')),
  );

/** All log lines of a logger use one set of secrets, so the redaction caches the search texts for each set. */
function remembered(make: (secrets: Secrets) => readonly string[]): (secrets: Secrets) => readonly string[] {
  const known = new WeakMap<Secrets, readonly string[]>();
  return (secrets) => {
    const made = known.get(secrets) ?? make(withoutChoices(secrets));
    known.set(secrets, made);
    return made;
  };
}

const allPiecesOf = remembered((secrets) => Object.entries(secrets).flatMap(([key, value]) => piecesOf(key, value)));

/**
 * Search texts find secrets in hexadecimal and base64, and with escape sequences, other letter cases and white space.
 */
export const allNeedlesOf = remembered((secrets) => [
  ...new Set(Object.entries(secrets).flatMap(([key, value]) => needlesOfValue(key, value))),
]);

function without(text: string, pieces: readonly string[]): string {
  let result = text;
  const present = [...new Set(pieces)].filter((piece) => text.includes(piece));
  for (const piece of present.toSorted((a, b) => b.length - a.length)) result = result.replaceAll(piece, '***');
  return result;
}

const RUN = /(?:[\w+/=-]|%[0-9a-f]{2}){24,}/gi;
const WINDOW = 16;

const plain = (run: string): string =>
  run
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('-', '+')
    .replaceAll('_', '/');

const denseOf = remembered((secrets) =>
  Object.entries(secrets).flatMap(([key, value]) => {
    const texts = textsOf(value);
    const all = key === USER_DATA_KEY ? [] : texts.flatMap((text) => [text, ...within(text)]);
    const lines = all.flatMap((each) => each.split('\n'));
    const opaque = lines.filter((line) => line.length > WINDOW && /^[\w+/=~-]+$/.test(line) && !line.startsWith('/'));
    return [base64(value), ...texts.map((text) => base64(text.trim())), ...opaque].map(plain);
  }),
);

/** Servers truncate the texts that they quote, so a response may contain only a part of a secret. */
function withoutParts(text: string, secrets: Secrets): string {
  const dense = denseOf(secrets);
  return text.replaceAll(RUN, (run) => {
    const looked = plain(run);
    for (let at = 0; at + WINDOW <= looked.length; at += WINDOW / 2) {
      const window = looked.slice(at, at + WINDOW);
      if (dense.some((each) => each.includes(window))) return '***';
    }
    return run;
  });
}

const FIELDS =
  'access_?token|refresh_token|id_token|subject_token|client_secret|client_assertion|assertion|private_key|password|' +
  'secret_?access_?key|session_?token|web_?identity_?token|x-amz-(?:security-token|signature)|signature|sig|' +
  'user_?data|custom_?data|authorization';

const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  // A truncated text may lack the end of the key.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, '***'],
  // Values of HTTP headers: `Authorization: Bearer …`, and `x-amz-security-token:…` in the canonical request of AWS.
  [/\b(Bearer|Basic|Negotiate)(\s+|%20|\+)[\w.~+/=%-]{16,}/gi, '$1$2***'],
  [/\b(x-amz-security-token|proxy-authorization|set-cookie|cookie)(["']?\s*:\s*["']?)[^\s"'&<>]{6,}/gi, '$1$2***'],
  // JSON Web Tokens and other JSON texts in base64 look like credentials.
  [/\beyJ[\w+/=-]{12,}(?:\.[\w+/=-]+){0,2}/g, '***'],
  // The pattern of access tokens of Google.
  [/\bya29\.[\w.-]{8,}/g, '***'],
  [new RegExp(`\\b(${FIELDS})(=|\\\\?["']\\s*:\\s*\\\\?["']|>)[^\\s"'&<>,;\\\\]{6,}`, 'gi'), '$1$2***'],
  // The final user data contains a bootstrap token that is not in the Secrets of the class.
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, '***'],
];

/** Returns the text without secrets: values of Secrets, parts of these values, and texts that look like credentials. */
export function redact(text: string, secrets: Secrets): string {
  const needles = allNeedlesOf(secrets);
  const plainly = withoutParts(without(text, allPiecesOf(secrets)), secrets);
  let result = needles.length > 0 ? hideNeedles(plainly, needles) : plainly;
  for (const [look, instead] of CREDENTIALS) result = result.replaceAll(look, instead);
  return result;
}

const CONFIDENTIAL = /^(authorization|proxy-authorization|cookie|x-amz-security-token)$/i;
/** The redaction ignores shorter words in a header, such as authentication schemes and parameter names. */
const SHORTEST_WORD = 12;
const NO_SECRET = /^AWS4-HMAC-SHA256$|^SignedHeaders=/;
/** Matches the form fields with credentials in a token request. */
const CONFIDENTIAL_FIELD = /(secret|assertion|token)$/i;

/** The parts of a request that the server may quote in its response. */
export interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly form?: Readonly<Record<string, string>>;
}

/**
 * Removes the credentials of a request from the text of its response. Some tokens have no recognizable form, so only
 * the sender of the request can remove them. The caller must use `withoutSent` before an error contains the response
 * text.
 */
export function withoutSent(text: string, { headers, form = {} }: Sent): string {
  const reported = Object.entries(headers).flatMap(([name, value]) => (CONFIDENTIAL.test(name) ? [value] : []));
  const words = reported.flatMap((value) => value.split(/[\s,]+/)).filter((word) => !NO_SECRET.test(word));
  // Azure and AWS send signed values. A response may quote only the part of such a value after `Signature=`.
  const values = words.flatMap((word) => [word, word.slice(word.indexOf('=') + 1)]);
  const fields = Object.entries(form).flatMap(([name, value]) => (CONFIDENTIAL_FIELD.test(name) ? [value] : []));
  const confidential = [...values.filter(({ length }) => length >= SHORTEST_WORD), ...fields.filter(Boolean)];
  return without(text, confidential.flatMap(wholes).flatMap(forms));
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Objects of libraries can refer to each other in cycles, so the redaction searches nested log fields only to this
 * depth.
 */
const DEEPEST = 5;

export function redactingLogger(log: Logger, secrets: Secrets): Logger {
  const clean = (value: unknown, depth = 0): unknown => {
    if (typeof value === 'string') return redact(value, secrets);
    if (value instanceof Error) return { name: value.name, message: redact(errorText(value), secrets) };
    if (typeof value !== 'object' || value === null) return value;
    // A logger prints a byte array as a list of numbers, so the redaction replaces the array.
    if (depth === DEEPEST || ArrayBuffer.isView(value)) return '…';
    if (Array.isArray(value)) return value.map((each) => clean(each, depth + 1));
    return cleanFields(value as Fields, depth + 1);
  };
  const cleanFields = (fields: Fields, depth = 0): Fields =>
    Object.fromEntries(Object.entries(fields).map(([key, each]) => [key, clean(each, depth)]));
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (message: string, fields: Fields = {}): void =>
      log[level](redact(message, secrets), cleanFields(fields));
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => redactingLogger(log.with(cleanFields(fields)), secrets),
  };
}
