import { isRecord } from '@mcm/kube';
import { ConfigAnnotations } from '@mcm/machine-config';
import type { Correction } from './correction.ts';

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const OURS = ConfigAnnotations.MachineConfigNameSuffixes;

/** The suffix that mcm uses for each pool. */
const suffixesOf = (config: Fields): Fields => {
  const text = fieldsOf(config.annotations)[OURS];
  return typeof text === 'string' ? fieldsOf(JSON.parse(text)) : {};
};

const stepsOf = (answer: unknown): readonly Fields[] => listOf(fieldsOf(answer).steps);

const nameOf = (pool: string, suffix: unknown): string =>
  `99-${pool}-generated-kubelet${suffix === '' ? '' : `-${String(suffix)}`}`;

/** The names of a KubeletConfig's objects in the original, by their names in this project. */
function namesOf(ours: Fields, theirs: Fields | undefined): ReadonlyMap<unknown, string> {
  const suffix = fieldsOf(theirs?.annotations)[ConfigAnnotations.MachineConfigNameSuffix];
  const pools = Object.entries(suffixesOf(ours));
  return new Map(suffix === undefined ? [] : pools.map(([pool, own]) => [nameOf(pool, own), nameOf(pool, suffix)]));
}

const ownerOf = (config: Fields): unknown => listOf(config.owners)[0]?.name;
const byName = (a: Fields, b: Fields): number => (String(a.name) < String(b.name) ? -1 : 1);

/**
 * In mcm, each pool has its own suffix, so that no object overwrites the object of another pool. The comparison uses
 * the names of the original, and ignores MachineConfigs that the original overwrote.
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

/**
 * mcm does not delete a MachineConfig without a version, even if its name has the prefix, because it belongs to a user.
 */
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
