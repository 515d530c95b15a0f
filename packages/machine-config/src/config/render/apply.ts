import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '@mcm/kube';
import { defined, withoutUndefined } from '@mcm/kube';
import type { MachineConfig, MachineConfigSpec } from '../../kinds/machine-config.ts';

/** The stored object with the required fields, and whether the object was modified. */
export interface Applied {
  readonly modified: boolean;
  readonly machineConfig: MachineConfig;
}

type Pairs = Record<string, string>;

function mergePairs(existing: Pairs = {}, required: Pairs = {}): Pairs {
  const merged = { ...existing };
  for (const [key, value] of Object.entries(required)) {
    if (key.endsWith('-')) delete merged[key.slice(0, -1)];
    else merged[key] = value;
  }
  return merged;
}

function mergeOwners(
  existing: readonly OwnerReference[] = [],
  required: readonly OwnerReference[] = [],
): OwnerReference[] {
  const isSame = (a: OwnerReference, b: OwnerReference) => a.kind === b.kind && a.name === b.name;
  const kept = existing.map((owner) => required.find((wanted) => isSame(owner, wanted)) ?? owner);
  return [...kept, ...required.filter((wanted) => !existing.some((owner) => isSame(owner, wanted)))];
}

const listOf = (list: readonly string[] | null | undefined): readonly string[] => list ?? [];

function mergeSpec(existing: MachineConfigSpec, required: MachineConfigSpec): MachineConfigSpec {
  const same = (field: 'kernelArguments' | 'extensions') =>
    isDeepStrictEqual(listOf(existing[field]), listOf(required[field]));
  const sameConfig = isDeepStrictEqual(existing.config ?? null, required.config ?? null);
  const { config: _config, kernelArguments: _arguments, extensions: _extensions, fips: _fips, ...rest } = existing;
  const config = sameConfig ? existing.config : required.config;
  const kernelArguments = same('kernelArguments') ? existing.kernelArguments : required.kernelArguments;
  const extensions = same('extensions') ? existing.extensions : required.extensions;
  const fips = (existing.fips ?? false) === (required.fips ?? false) ? existing.fips : required.fips;
  return defined({
    ...rest,
    ...withoutUndefined({
      osImageURL: required.osImageURL || undefined,
      kernelType: required.kernelType || undefined,
      baseOSExtensionsContainerImage: required.baseOSExtensionsContainerImage || undefined,
    }),
    config,
    kernelArguments,
    extensions,
    fips,
  });
}

/**
 * Applies a generated MachineConfig to the stored MachineConfig, but keeps labels, annotations and owners of other
 * clients. Source: machine-config-operator, lib/resourcemerge.
 */
export function applyMachineConfig(existing: MachineConfig, required: MachineConfig): Applied {
  const { labels, annotations, ownerReferences } = existing.metadata;
  const metadata = {
    ...existing.metadata,
    labels: mergePairs(labels, required.metadata.labels),
    annotations: mergePairs(annotations, required.metadata.annotations),
    ownerReferences: mergeOwners(ownerReferences, required.metadata.ownerReferences),
  };
  const spec = mergeSpec(existing.spec ?? {}, required.spec ?? {});
  const before = { labels: labels ?? {}, annotations: annotations ?? {}, ownerReferences: ownerReferences ?? [] };
  const after = {
    labels: metadata.labels,
    annotations: metadata.annotations,
    ownerReferences: metadata.ownerReferences,
  };
  const modified = !isDeepStrictEqual(before, after) || !isDeepStrictEqual(spec, existing.spec ?? {});
  return { modified, machineConfig: modified ? { ...existing, metadata, spec } : existing };
}
