import { gunzipSync } from 'node:zlib';

/** The error for a `data:` URL that cannot be decoded. */
export class DataUrlError extends Error {
  override readonly name = 'DataUrlError';
}

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`{|}~-]";
const TYPE = `(?:(?:text|image|audio|video|application|message|multipart)${TOKEN}*|[xX]-${TOKEN}*)`;
const MEDIA_TYPE = new RegExp(`^(?:${TYPE}/${TOKEN}*)?(?:;${TOKEN}+=(?:${TOKEN}+|"(?:[^"\\\\]|\\\\.)*"))*$`);
const BAD_ESCAPE = /=(?!")[^;]*%(?![0-9A-Fa-f]{2})/;
/** The reserved and unreserved characters of RFC 2396, and the percent sign. */
const DATA = /^[A-Za-z0-9\-_.!~*'();/?:@&=+$,%]*$/;

interface DataUrl {
  readonly data: Buffer;
}

/**
 * Parses a `data:` URL, as defined in RFC 2397.
 * @throws DataUrlError
 */
export function parseDataUrl(url: string): DataUrl {
  if (!url.startsWith('data:')) throw new DataUrlError('missing data prefix');
  const comma = commaOf(url);
  const head = url.slice(5, comma);
  const base64 = head.endsWith(';base64');
  const mediaType = base64 ? head.slice(0, -';base64'.length) : head;
  if (!MEDIA_TYPE.test(mediaType) || BAD_ESCAPE.test(mediaType)) throw new DataUrlError('invalid media type');
  const text = url.slice(comma + 1);
  if (!DATA.test(text)) throw new DataUrlError('invalid data character');
  return { data: base64 ? fromBase64(unescapePercent(text).toString('latin1')) : unescapePercent(text) };
}

/** A quoted parameter may contain commas. */
function commaOf(url: string): number {
  let quoted = false;
  for (let index = 5; index < url.length; index += 1) {
    const character = url[index];
    if (character === '"') quoted = !quoted;
    else if (character === '\\' && quoted) index += 1;
    else if (character === ',' && !quoted) return index;
  }
  throw new DataUrlError('missing comma before data');
}

function unescapePercent(text: string): Buffer {
  if (!text.includes('%')) return Buffer.from(text, 'latin1');
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] !== '%') {
      bytes.push(text.charCodeAt(index));
      continue;
    }
    const digits = text.slice(index + 1, index + 3);
    if (!/^[0-9A-Fa-f]{2}$/.test(digits)) {
      throw new DataUrlError('rfc2396: invalid char 0x25 in unescape sequence');
    }
    bytes.push(Number.parseInt(digits, 16));
    index += 2;
  }
  return Buffer.from(bytes);
}

function fromBase64(text: string): Buffer {
  const bad = /[^A-Za-z0-9+/]/.exec(text.replace(/={0,2}$/, ''));
  if (bad) throw new DataUrlError(`illegal base64 data at input byte ${bad.index}`);
  if (text.length % 4 !== 0)
    throw new DataUrlError(`illegal base64 data at input byte ${text.length - (text.length % 4)}`);
  return Buffer.from(text, 'base64');
}

/** Returns a `data:` URL with the percent-escaped text. */
export const encodeDataUrl = (text: string): string => `data:,${encodeURIComponent(text)}`;

/** Encodes content as a `data:` URL in base64, as in kubelet configurations. */
export const encodeBase64DataUrl = (content: string | Uint8Array): string =>
  `data:text/plain;charset=utf-8;base64,${Buffer.from(content).toString('base64')}`;

/**
 * Decodes the content of a file.
 * @throws DataUrlError for any other URL, and for content with another compression
 */
export function decodeContents(source: string | undefined, compression: string | undefined): Buffer {
  if (source === undefined) return Buffer.alloc(0);
  let data: Buffer;
  try {
    ({ data } = parseDataUrl(source));
  } catch (error) {
    throw new DataUrlError(`could not decode file content string: ${(error as Error).message}`, { cause: error });
  }
  if (compression === undefined || compression === '') return data;
  if (compression !== 'gzip') throw new DataUrlError(`unsupported compression type ${JSON.stringify(compression)}`);
  try {
    return gunzipSync(data);
  } catch (error) {
    const failed = hasGzipHeader(data) ? 'failed decompressing' : 'could not create gzip reader';
    throw new DataUrlError(`${failed}: ${(error as Error).message}`, { cause: error });
  }
}

const hasGzipHeader = (data: Buffer): boolean =>
  data.length >= 10 && data[0] === 0x1f && data[1] === 0x8b && data[2] === 8;
