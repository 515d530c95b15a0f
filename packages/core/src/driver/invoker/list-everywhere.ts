import type { MachineClass } from '@mcm/api';
import type { ListedInstance } from '../contract/driver.ts';
import type { Alternative } from '../offerings/alternative.ts';
import { classAlternatives, usableAlternatives } from '../offerings/rules.ts';
import { decodeInput } from '../schemas/decode.ts';
import type { ClassLookup } from './api/class-lookup.ts';
import type { InvokerOptions } from './api/invoker-api.ts';

/**
 * Lists the VMs of a class in all its zones. VMs that are missing in a listing count as deleted, so one failed listing
 * makes the function throw.
 */
export async function listEverywhere<Spec, Credentials>(
  options: Pick<InvokerOptions<Spec, Credentials>, 'driver' | 'recorded'>,
  lookup: Pick<ClassLookup, 'secretsOf'>,
  machineClass: MachineClass,
  list: (alternative: Alternative | undefined) => Promise<readonly ListedInstance[]>,
): Promise<readonly ListedInstance[]> {
  const found = new Map<string, ListedInstance>();
  for (const alternative of [undefined, ...otherParts(options, lookup, machineClass)])
    for (const vm of await list(alternative)) found.set(vm.providerId, vm);
  return [...found.values()];
}

function otherParts<Spec, Credentials>(
  { driver, recorded }: Pick<InvokerOptions<Spec, Credentials>, 'driver' | 'recorded'>,
  { secretsOf }: Pick<ClassLookup, 'secretsOf'>,
  machineClass: MachineClass,
): readonly Alternative[] {
  const rules = driver.alternatives;
  if (!rules?.listing) return [];
  const records = recorded?.(machineClass) ?? [];
  const text = classAlternatives(machineClass);
  if (text === undefined && records.length === 0) return [];
  const { spec } = decodeInput(driver, { call: 'list', machineClass, data: secretsOf(machineClass).data });
  const parts = new Set([rules.listing(spec)]);
  return [...usableAlternatives(rules, text, spec), ...records].filter((alternative) => {
    const part = rules.listing?.(rules.apply(spec, alternative)) ?? '';
    if (parts.has(part)) return false;
    parts.add(part);
    return true;
  });
}
