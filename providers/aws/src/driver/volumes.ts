import { isIPv6 } from 'node:net';
import type { VolumeSource } from '@mcm/core/driver';

const CSI_DRIVER = 'ebs.csi.aws.com';

const text = (source: unknown, field: string): string | undefined => {
  if (typeof source !== 'object' || source === null) return undefined;
  const value = (source as Readonly<Record<string, unknown>>)[field];
  return typeof value === 'string' ? value : undefined;
};

/**
 * Returns the EC2 ID of a PersistentVolume's source. An in-tree source takes precedence over a CSI source, even if its
 * ID is invalid.
 */
export function volumeIdOf(source: VolumeSource | null): string | undefined {
  if (source?.awsElasticBlockStore) return inTreeId(text(source.awsElasticBlockStore, 'volumeID') ?? '');
  return source?.csi?.driver === CSI_DRIVER && source.csi.volumeHandle ? source.csi.volumeHandle : undefined;
}

/**
 * Returns the volume ID in an in-tree source. Kubernetes writes `aws://<zone>/vol-…`. A text without the prefix
 * `aws://` is the ID itself.
 */
function inTreeId(id: string): string | undefined {
  if (!id.startsWith('aws://')) return id;
  const path = pathOf(id)?.replaceAll(/^\/+|\/+$/g, '');
  return path !== undefined && /^vol-[^/]*$/.test(path) ? path : undefined;
}

const PARTS =
  /^aws:\/\/(?:(?<user>[^/?#]*)@)?(?<host>[^/?#]*)(?<path>[^?#]*)(?<query>[^#]*)(?:#(?<fragment>[\s\S]*))?$/;

/** Returns the decoded path of a URL, or undefined if net/url of Go refuses the URL. */
function pathOf(id: string): string | undefined {
  const { user = '', host = '', path = '', query = '', fragment = '' } = PARTS.exec(id)?.groups ?? {};
  if (hasControl(user + host + path + query) || !isHost(host) || !isUser(user)) return undefined;
  if (decoded(user) === undefined || decoded(fragment) === undefined) return undefined;
  return decoded(path);
}

const hasControl = (value: string): boolean => [...value].some((char) => char < ' ' || char === '\u007f');

/** Returns true if net/url of Go accepts the text as the user part of a URL. */
const isUser = (user: string): boolean => /^[\w\-.~!$&'()*+,;=:%@]*$/.test(user);

/** Matches the characters of a host, and the escapes that net/url of Go decodes in a host. */
const HOST = /^(?:[\w\-.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}]|%25|%[89a-f][0-9a-f])*$/iu;
/** Matches an IPv6 address in brackets, with an optional zone after `%25`. */
const LITERAL = /^\[(?<address>[^%]*)(?<zone>%25.*)?\](?<port>[^\]]*)$/s;
const PORT = /^(?::\d*)?$/;

/** Checks a host with the rules of net/url in Go. Brackets may only surround an IPv6 address. */
function isHost(host: string): boolean {
  const colon = host.indexOf(':');
  if (!host.includes('[')) return HOST.test(host) && PORT.test(colon < 0 ? '' : host.slice(colon));
  const { address = '', zone = '', port = '' } = LITERAL.exec(host)?.groups ?? {};
  return isIPv6(address) && PORT.test(port) && (zone === '' || isZone(zone));
}

/**
 * Returns true for a valid zone of an IPv6 address. A zone may contain any escape, but no character that a host must
 * escape.
 */
const isZone = (zone: string): boolean => {
  const text = decoded(zone);
  return text !== undefined && text.length > 1 && HOST.test(zone.replaceAll(/%[0-9a-f]{2}/gi, ''));
};

/** Decodes the escapes in a part of a URL. */
function decoded(path: string): string | undefined {
  return /%(?![0-9a-f]{2})/i.test(path) ? undefined : Buffer.from(unescaped(path), 'latin1').toString('utf8');
}

const unescaped = (path: string): string =>
  Buffer.from(path, 'utf8')
    .toString('latin1')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
