import { createHash } from 'node:crypto';
import { type Machine, type MachineClass, USER_DATA_KEY } from '@mcm/api';
import {
  type Alternative,
  alternativesText,
  alternativeText,
  type Choice,
  recordOf,
  zoneOfferingOf,
} from '../offerings/alternative.ts';
import { usableAlternatives } from '../offerings/rules.ts';
import { decodeInput } from '../schemas/decode.ts';
import type { DriverDefinition } from '../schemas/define-driver.ts';
import type { ClassLookup } from './api/class-lookup.ts';

type Source<Spec, Credentials> = Pick<
  DriverDefinition<Spec, Credentials>,
  'name' | 'alternatives' | 'providerSpec' | 'credentialsSchema' | 'decode'
>;

/**
 * Returns the offerings of a machine: the first choice, then the alternatives in their order. Every reconcile of a
 * waiting machine needs its offerings, so mcm caches the offerings for each version of a class.
 * @returns undefined for a machine without alternatives
 */
export function createChoices<Spec, Credentials>(
  driver: Source<Spec, Credentials>,
  lookup: Pick<ClassLookup, 'classOf' | 'secretsOf'>,
): (machine: Machine) => readonly Choice[] | undefined {
  const known = new WeakMap<MachineClass, Map<string, readonly Choice[]>>();
  return (machine) => {
    const machineClass = driver.alternatives && lookup.classOf(machine);
    if (machineClass === undefined) return undefined;
    const zone = zoneOfferingOf(machine);
    const text = alternativesText(machine, machineClass) ?? '';
    if (zone === undefined && text.trim() === '') return undefined;
    const secrets = lookup.secretsOf(machineClass);
    const account = accountOf(secrets.data);
    const id = `${account} ${zone ? recordOf(zone) : ''} ${text}`;
    const ofClass = known.get(machineClass) ?? new Map<string, readonly Choice[]>();
    known.set(machineClass, ofClass);
    const choices = ofClass.get(id) ?? choicesOf(driver, { machineClass, data: secrets.data, text, account, zone });
    ofClass.set(id, choices);
    // mcm tracks the capacity of each zone, even if the zone is the only offering.
    return choices.length > (zone ? 0 : 1) ? choices : undefined;
  };
}

/**
 * Returns a key for a cloud account: a hash of the credentials. The hash contains no secret. Classes of one account
 * have different user data, so the hash excludes the user data.
 */
function accountOf(data: Readonly<Record<string, string>>): string {
  const credentials = Object.entries(data).filter(([key]) => key !== USER_DATA_KEY);
  const text = JSON.stringify(credentials.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

interface Input {
  readonly machineClass: MachineClass;
  readonly data: Readonly<Record<string, string>>;
  readonly text: string;
  readonly account: string;
  readonly zone: Alternative | undefined;
}

function choicesOf<Spec, Credentials>(
  driver: Source<Spec, Credentials>,
  { machineClass, data, text, account, zone }: Input,
): readonly Choice[] {
  const rules = driver.alternatives;
  const spec = specOf(driver, machineClass, data);
  if (!rules || spec === undefined) return [];
  const seen = new Set<string>();
  const alternatives = usableAlternatives(rules, text, spec);
  return [zone ?? {}, ...within(zone, alternatives)].flatMap((alternative: Alternative) => {
    const offering = rules.offering(rules.apply(spec, alternative));
    const key = JSON.stringify([driver.name, account, offering]);
    if (seen.has(key)) return [];
    seen.add(key);
    const { machineType: machine_type, zone, subnet, market } = offering;
    const labels = { machine_type, zone, subnet, market };
    return [{ record: recordOf(alternative), key, text: alternativeText(alternative), labels }];
  });
}

/** Returns the alternatives for a zone. An alternative without a zone and a subnet applies to every zone. */
const within = (zone: Alternative | undefined, alternatives: readonly Alternative[]): readonly Alternative[] =>
  zone === undefined
    ? alternatives
    : alternatives
        .filter((each) => each.zone === undefined && each.subnet === undefined)
        .map((each) => ({ ...zone, ...each }));

function specOf<Spec, Credentials>(
  driver: Source<Spec, Credentials>,
  machineClass: MachineClass,
  data: Readonly<Record<string, string>>,
): Spec | undefined {
  try {
    return decodeInput(driver, { call: 'create', machineClass, data }).spec;
  } catch {
    return undefined;
  }
}
