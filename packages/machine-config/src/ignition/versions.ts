import { type FieldPlan, objectPlan, type Plan } from './plan.ts';
import { IGNITION_PLAN } from './schema.ts';

/** Versions that are read, as the original's error texts list them. */
export const SUPPORTED_VERSIONS = '2.2,3.0,3.1,3.2,3.3,3.4,3.5';

/** A version that is read, by its parts. */
export type ReadableVersion = { readonly major: 2 } | { readonly major: 3; readonly minor: number };

// Versions 2.0 and 2.1 are subsets of 2.2 and are read although the texts do not name them.
const READABLE = /^(?:2\.[012]|3\.[0-5])\.0$/;

/**
 * Finds out what version a text names. Leading zeros do not count, build metadata does.
 * @returns `invalid` for what is no version, `unknown` for one that is not read
 */
export function readVersion(text: string): ReadableVersion | 'invalid' | 'unknown' {
  const parts = /^(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (!parts) return 'invalid';
  const [major, minor, patch] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (parts[4] !== undefined || parts[5] !== undefined || !READABLE.test(`${major}.${minor}.${patch}`))
    return 'unknown';
  return major === 2 ? { major } : { major: 3, minor };
}

/** Fields by the minor version that they came with. Source: ignition, docs/migrating-configs.md. */
const LATER: Readonly<Record<string, number>> = {
  'ignition.proxy': 1,
  'ignition.config.merge.compression': 1,
  'ignition.config.merge.httpHeaders': 1,
  'ignition.config.replace.compression': 1,
  'ignition.config.replace.httpHeaders': 1,
  'ignition.security.tls.certificateAuthorities.compression': 1,
  'ignition.security.tls.certificateAuthorities.httpHeaders': 1,
  'storage.files.contents.httpHeaders': 1,
  'storage.files.append.httpHeaders': 1,
  'storage.filesystems.mountOptions': 1,
  'storage.luks': 2,
  'storage.disks.partitions.resize': 2,
  'passwd.users.shouldExist': 2,
  'passwd.groups.shouldExist': 2,
  kernelArguments: 3,
  'storage.luks.discard': 4,
  'storage.luks.openOptions': 4,
  'storage.luks.clevis.tang.advertisement': 4,
  'storage.luks.cex': 5,
};

const plans = new Map<number, Plan>();

/** How configs of version 3.`minor` are decoded: what came later is unknown to it, whatever it holds. */
export function planOfMinor(minor: number): Plan {
  const known = plans.get(minor) ?? until(IGNITION_PLAN, minor, []);
  plans.set(minor, known);
  return known;
}

function until(plan: Plan, minor: number, path: readonly string[]): Plan {
  if (plan.kind === 'list') return { ...plan, entry: until(plan.entry, minor, path) };
  if (plan.kind !== 'object') return plan;
  const fields = plan.fields.flatMap((field): FieldPlan[] => {
    const inner = [...path, field.name];
    const since = LATER[inner.join('.')] ?? 0;
    return since > minor ? [] : [{ ...field, plan: until(field.plan, minor, inner) }];
  });
  return objectPlan(fields);
}
