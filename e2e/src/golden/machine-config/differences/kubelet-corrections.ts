import { isRecord } from '@mcm/kube';
import { ConfigAnnotations } from '@mcm/machine-config';
import type { Correction } from './correction.ts';

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const OURS = ConfigAnnotations.MachineConfigNameSuffixes;

/** Our suffix of each pool. */
const suffixesOf = (config: Fields): Fields => {
  const text = fieldsOf(config.annotations)[OURS];
  return typeof text === 'string' ? fieldsOf(JSON.parse(text)) : {};
};

const stepsOf = (answer: unknown): readonly Fields[] => listOf(fieldsOf(answer).steps);

const nameOf = (pool: string, suffix: unknown): string =>
  `99-${pool}-generated-kubelet${suffix === '' ? '' : `-${String(suffix)}`}`;

/** The names of the objects for a KubeletConfig in the original, by the names of this project. */
function namesOf(ours: Fields, theirs: Fields | undefined): ReadonlyMap<unknown, string> {
  const suffix = fieldsOf(theirs?.annotations)[ConfigAnnotations.MachineConfigNameSuffix];
  const pools = Object.entries(suffixesOf(ours));
  return new Map(suffix === undefined ? [] : pools.map(([pool, own]) => [nameOf(pool, own), nameOf(pool, suffix)]));
}

const ownerOf = (config: Fields): unknown => listOf(config.owners)[0]?.name;
const byName = (a: Fields, b: Fields): number => (String(a.name) < String(b.name) ? -1 : 1);

/**
 * Each pool has a suffix of its own, so that no object overwrites what another made. The whole answer is compared with the names of the
 * original, except MachineConfigs that the original overwrote with another object.
 */
const suffixPerPool: Correction = ({ fn }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isRecord(actual)) return { expected, actual };
  const steps = stepsOf(actual).map((step, index) => {
    const theirs = stepsOf(expected)[index] ?? {};
    const names = new Map(
      listOf(step.kubeletConfigs).map((config) => {
        const same = listOf(theirs.kubeletConfigs).find(({ name }) => name === config.name);
        return [config.name, namesOf(config, same)] as const;
      }),
    );
    const translated = (owner: unknown, name: unknown): unknown => names.get(owner)?.get(name) ?? name;
    const kubeletConfigs = listOf(step.kubeletConfigs).map((config) => {
      const finalizers = Array.isArray(config.finalizers)
        ? config.finalizers.map((name: unknown) => translated(config.name, name))
        : config.finalizers;
      return { ...config, finalizers };
    });
    const machineConfigs = listOf(step.machineConfigs)
      .map((config) => ({ ...config, name: translated(ownerOf(config), config.name) }))
      .filter((config) => {
        const taken = listOf(theirs.machineConfigs).find(({ name }) => name === config.name);
        return !taken || ownerOf(taken) === ownerOf(config);
      })
      .toSorted(byName);
    return { ...step, kubeletConfigs, machineConfigs };
  });
  return { expected, actual: { ...actual, steps } };
};

/** Only mcm has the annotation that stores them. */
const suffixAnnotation: Correction = ({ fn }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isRecord(actual)) return { expected, actual };
  const steps = stepsOf(actual).map((step) => ({
    ...step,
    kubeletConfigs: listOf(step.kubeletConfigs).map((config) => {
      const { [OURS]: _ours, ...annotations } = fieldsOf(config.annotations);
      return { ...config, annotations };
    }),
  }));
  return { expected, actual: { ...actual, steps } };
};

/** A MachineConfig without a version belongs to a user, also if its name has the prefix. It is not deleted. */
const usersStay: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isRecord(actual)) return { expected, actual };
  const version = ConfigAnnotations.GeneratedByControllerVersion;
  const users = new Set(
    listOf(input.machineConfigs)
      .map(({ metadata }) => fieldsOf(metadata))
      .filter(({ annotations }) => !fieldsOf(annotations)[version])
      .map(({ name }) => name),
  );
  const theirs = stepsOf(expected);
  const steps = stepsOf(actual).map((step, index) => {
    const kept = new Set(listOf(theirs[index]?.machineConfigs).map(({ name }) => name));
    const isLeftOver = (name: unknown) => /^99.*generated-kubelet/.test(String(name));
    const machineConfigs = listOf(step.machineConfigs).filter(
      ({ name }) => kept.has(name) || !users.has(name) || !isLeftOver(name),
    );
    return { ...step, machineConfigs };
  });
  return { expected, actual: { ...actual, steps } };
};

export const kubeletCorrections: readonly Correction[] = [suffixPerPool, suffixAnnotation, usersStay];
