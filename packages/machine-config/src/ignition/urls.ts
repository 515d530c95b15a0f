import { parseDataUrl } from './data-url.ts';

/** The scheme of a URL as Go's `url.Parse` finds it: '' for none, undefined for what it cannot read. */
export function schemeOf(url: string): string | undefined {
  if (/\p{Cc}/u.test(url.replaceAll(/[\u0080-\u009f]/g, ''))) return undefined;
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1];
  if (scheme !== undefined) return /^[^?#]*:\/\/[^/?#]*[ <>"\\^`{|}]/.test(url) ? undefined : scheme.toLowerCase();
  const first = url.split(/[/?#]/, 1)[0] ?? '';
  // A colon in the first segment of what is not a scheme: `::`, ` data:,x`.
  return first.includes(':') ? undefined : '';
}

const S3_ARN = /^arn:[^:]+:s3:[^:]*:[^:]*:[^/]+\/.+/;
const S3_ACCESS_POINT = /^arn:[^:]+:s3:[^:]*:[^:]*:accesspoint\/[^/]+$/;

const s3Problem = (url: string): string | undefined =>
  /[?&]versionId=?(&|#|$)/.test(url) ? 'invalid S3 object VersionId' : undefined;

/** The usual case, told at once: plain text without escapes. */
const PLAIN = /^data:,[A-Za-z0-9\-_.!~*'();/?:@&=+$,]*$/;

/** What is wrong with the URL of a resource: undefined for one that Ignition can fetch. */
export function urlProblem(url: string): string | undefined {
  if (PLAIN.test(url)) return undefined;
  const scheme = schemeOf(url);
  switch (scheme) {
    case undefined:
      return 'unable to parse url';
    case 'http':
    case 'https':
    case 'tftp':
    case 'gs':
      return undefined;
    case 's3':
      return s3Problem(url);
    case 'arn':
      return S3_ARN.test(url) && !S3_ACCESS_POINT.test(url) ? s3Problem(url) : 'invalid S3 ARN format';
    case 'data':
      return dataProblem(url);
    default:
      return 'invalid url scheme';
  }
}

function dataProblem(url: string): string | undefined {
  try {
    parseDataUrl(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
