import { parseDataUrl } from './data-url.ts';
import { parseGoUrl, queryValues } from './go-url.ts';

export const schemeOf = (url: string): string | undefined => parseGoUrl(url)?.scheme;

const PLAIN = /^data:,[A-Za-z0-9\-_.!~*'();/?:@&=+$,]*$/;

/** Returns the problem of a URL, or undefined if Ignition can fetch it. */
export function urlProblem(url: string, minor = 5): string | undefined {
  if (PLAIN.test(url)) return undefined;
  const parsed = parseGoUrl(url);
  if (parsed === undefined) return 'unable to parse url';
  switch (parsed.scheme) {
    case 'http':
    case 'https':
    case 'tftp':
      return undefined;
    case 'gs':
      return minor < 2 ? 'invalid url scheme' : undefined;
    case 's3':
      return minor < 4 ? undefined : s3Problem(parsed.query);
    case 'arn':
      if (minor < 4) return 'invalid url scheme';
      return isS3Arn(parsed.opaque) ? s3Problem(parsed.query) : 'invalid S3 ARN format';
    case 'data':
      return dataProblem(url);
    default:
      return 'invalid url scheme';
  }
}

export function urlProblemV2(url: string, minor: number): string | undefined {
  if (PLAIN.test(url)) return undefined;
  const scheme = schemeOf(url);
  if (scheme === 'oem') return undefined;
  if (scheme === 'gs' || scheme === 'arn') return 'invalid url scheme';
  if (minor === 0 && (scheme === 's3' || scheme === 'tftp')) return 'invalid url scheme';
  return urlProblem(url);
}

const s3Problem = (query: string): string | undefined =>
  queryValues(query, 'versionId')[0] === '' ? 'invalid S3 object VersionId' : undefined;

/** Returns true for an ARN of an S3 object. */
function isS3Arn(rest: string): boolean {
  const [, service, , , ...resource] = rest.split(':');
  if (resource.length === 0 || service !== 's3') return false;
  const slashes = rest.split('/').length - 1;
  return slashes >= (resource.join(':').startsWith('accesspoint/') ? 2 : 1);
}

function dataProblem(url: string): string | undefined {
  try {
    parseDataUrl(url);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
