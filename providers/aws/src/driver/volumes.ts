import type { VolumeSource } from '@mcm/core/driver';

const CSI_DRIVER = 'ebs.csi.aws.com';

const text = (source: unknown, field: string): string | undefined => {
  if (typeof source !== 'object' || source === null) return undefined;
  const value = (source as Readonly<Record<string, unknown>>)[field];
  return typeof value === 'string' ? value : undefined;
};

/**
 * If the volume has an in-tree source, its ID is used even if the ID is invalid. Otherwise the ID of the CSI source is
 * used.
 */
export function volumeIdOf(source: VolumeSource | null): string | undefined {
  if (source?.awsElasticBlockStore) return inTreeId(text(source.awsElasticBlockStore, 'volumeID') ?? '');
  return source?.csi?.driver === CSI_DRIVER && source.csi.volumeHandle ? source.csi.volumeHandle : undefined;
}

/** The in-tree plugin of Kubernetes writes `aws://<zone>/vol-…`. Without this prefix, the whole text is the ID. */
function inTreeId(id: string): string | undefined {
  if (!id.startsWith('aws://')) return id;
  const url = /^aws:\/\/(?:(?<user>[^/?#]*)@)?(?<host>[^/?#]*)(?<path>[^?#]*)/.exec(id)?.groups;
  if (!url || hasControl(id) || !isHost(url.host ?? '') || !isUser(url.user ?? '')) return undefined;
  const path = decoded(url.path ?? '')?.replaceAll(/^\/+|\/+$/g, '');
  return path !== undefined && /^vol-[^/]*$/.test(path) ? path : undefined;
}

const hasControl = (value: string): boolean => [...value].some((char) => char < ' ' || char === '\u007f');

/** As net/url of Go does. */
const isUser = (user: string): boolean => /^[\w\-.~!$&'()*+,;=:%@]*$/.test(user);

/** As net/url of Go does: no spaces, and only digits after a colon. */
const isHost = (host: string): boolean => /^[^\s:<>"]*(:\d*)?$/.test(host);

function decoded(path: string): string | undefined {
  return /%(?![0-9a-f]{2})/i.test(path) ? undefined : Buffer.from(unescaped(path), 'latin1').toString('utf8');
}

const unescaped = (path: string): string =>
  Buffer.from(path, 'utf8')
    .toString('latin1')
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
