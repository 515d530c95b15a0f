import type { ServedVersion } from '../ignition/index.ts';

const MEDIA_TYPE = 'application/vnd.coreos.ignition+json';
const OLDEST: ServedVersion = '2.2.0';
const NEWEST_MINOR = 5;
const OLDEST_MINOR = 1;

interface Wish {
  readonly quality: number;
  readonly version: string;
}

/**
 * Returns the version that the `Accept` header prefers.
 * @returns undefined for an unsupported major version
 */
export function versionFor(accept: string | undefined): ServedVersion | undefined {
  const [best] = wishesOf(accept ?? '').toSorted((a, b) => b.quality - a.quality);
  if (!best) return OLDEST;
  const [major = 0, minor = 0] = best.version.split('.').map(Number);
  if (major === 2) return OLDEST;
  if (major !== 3 || minor < OLDEST_MINOR) return undefined;
  return `3.${Math.min(minor, NEWEST_MINOR)}.0` as ServedVersion;
}

function wishesOf(accept: string): readonly Wish[] {
  return accept.split(',').flatMap((entry) => {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    if (type.toLowerCase() !== MEDIA_TYPE) return [];
    const parameterOf = (name: string) =>
      parameters
        .find((one) => one.startsWith(`${name}=`))
        ?.slice(name.length + 1)
        .replaceAll('"', '');
    const version = parameterOf('version');
    const quality = Number(parameterOf('q') ?? 1);
    return version !== undefined && /^\d+\.\d+\.\d+/.test(version) && quality > 0 ? [{ quality, version }] : [];
  });
}
