import { createHash, createHmac } from 'node:crypto';
import type { TransportRequest } from '@mcm/kube';

export interface Scope {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly sessionToken?: string | undefined;
  signedWith(secretAccessKey: string): boolean;
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<id>[^/]*)\/(?<date>\d+)\/(?<region>[^/]*)\/(?<service>[^/]*)\/aws4_request, SignedHeaders=(?<headers>[^,]*), Signature=(?<signature>\w+)$/;

/** Parses the Authorization header of a request (AWS Signature Version 4). */
export function readScope(request: TransportRequest): Scope | undefined {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([key, value]) => [key.toLowerCase(), value]));
  const found = AUTHORIZATION.exec(headers.authorization ?? '')?.groups;
  if (!found) return undefined;
  const { id = '', date = '', region = '', service = '', headers: signed = '', signature = '' } = found;
  const lines = signed.split(';').map((name) => `${name}:${(headers[name] ?? '').trim()}\n`);
  const [path = '/', query = ''] = request.path.split('?');
  const canonical = [request.method, path, query, lines.join(''), signed, hash(request.body ?? '')].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'] ?? '', scope, hash(canonical)].join('\n');
  const token = headers['x-amz-security-token'];
  return {
    accessKeyId: id,
    region,
    service,
    sessionToken: token,
    signedWith: (secret) => {
      const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`);
      return hmac(key, text).toString('hex') === signature;
    },
  };
}
