import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '@mcm/kube';
import { ConfigAnnotations } from '@mcm/machine-config';
import type { Correction } from './correction.ts';

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

const OURS = ConfigAnnotations.MachineConfigNameSuffixes;

/** Returns the suffix of each pool in mcm. */
const suffixesOf = (config: Fields): Fields => {
  const text = fieldsOf(config.annotations)[OURS];
  return typeof text === 'string' ? fieldsOf(JSON.parse(text)) : {};
};

const stepsOf = (answer: unknown): readonly Fields[] => listOf(fieldsOf(answer).steps);

const nameOf = (pool: string, suffix: unknown): string =>
  `99-${pool}-generated-kubelet${suffix === '' ? '' : `-${String(suffix)}`}`;

/** Returns the names of the objects for a KubeletConfig in the original. */
function namesOf(ours: Fields, theirs: Fields | undefined): ReadonlyMap<unknown, string> {
  const suffix = fieldsOf(theirs?.annotations)[ConfigAnnotations.MachineConfigNameSuffix];
  const pools = Object.entries(suffixesOf(ours));
  return new Map(suffix === undefined ? [] : pools.map(([pool, own]) => [nameOf(pool, own), nameOf(pool, suffix)]));
}

const ownerOf = (config: Fields): unknown => listOf(config.owners)[0]?.name;
const byName = (a: Fields, b: Fields): number => (sortKey(a) < sortKey(b) ? -1 : 1);
const sortKey = (config: Fields): string => JSON.stringify([config.name, ownerOf(config)]);

/** In mcm, each pool has its own suffix, so two pools never write the same object. */
const suffixPerPool: Correction = ({ fn }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isRecord(actual)) return { expected, actual };
  const theirSteps = stepsOf(expected);
  const ourSteps: Fields[] = [];
  const wanted = [...theirSteps];
  for (const [index, step] of stepsOf(actual).entries()) {
    const theirs = theirSteps[index] ?? {};
    const { kubeletConfigs, machineConfigs } = withTheirNames(step, theirs);
    const overwritten = machineConfigs.flatMap((config): readonly Fields[] => {
      const taken = listOf(theirs.machineConfigs).find(({ name }) => name === config.name);
      return taken && ownerOf(taken) !== ownerOf(config) ? lastOf(config, theirSteps.slice(0, index)) : [];
    });
    ourSteps.push({ ...step, kubeletConfigs, machineConfigs: machineConfigs.toSorted(byName) });
    if (overwritten.length > 0)
      wanted[index] = {
        ...theirs,
        machineConfigs: [...listOf(theirs.machineConfigs), ...overwritten].toSorted(byName),
      };
  }
  return { expected: { ...(expected as Fields), steps: wanted }, actual: { ...actual, steps: ourSteps } };
};

/** Returns the last version of a MachineConfig that the original wrote with the same name and owner. */
const lastOf = (config: Fields, steps: readonly Fields[]): readonly Fields[] =>
  steps
    .flatMap(({ machineConfigs }) => listOf(machineConfigs))
    .filter((one) => one.name === config.name && ownerOf(one) === ownerOf(config))
    .slice(-1);

/** Returns the objects of a step of mcm, renamed to the names of the original. */
function withTheirNames(
  step: Fields,
  theirs: Fields,
): { readonly kubeletConfigs: readonly Fields[]; readonly machineConfigs: readonly Fields[] } {
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
  const machineConfigs = listOf(step.machineConfigs).map((config) => ({
    ...config,
    name: translated(ownerOf(config), config.name),
  }));
  return { kubeletConfigs, machineConfigs };
}

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

/** If a MachineConfig has no version, a user has created it, so mcm keeps it even if its name has the prefix. */
const usersStay: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isRecord(actual)) return { expected, actual };
  const version = ConfigAnnotations.GeneratedByControllerVersion;
  const users = new Map(
    listOf(input.machineConfigs)
      .map(({ metadata }) => fieldsOf(metadata))
      .filter(({ annotations }) => !fieldsOf(annotations)[version])
      .map((metadata) => [metadata.name, metadata]),
  );
  const theirs = stepsOf(expected);
  const steps = stepsOf(actual).map((step, index) => {
    const kept = new Set(listOf(theirs[index]?.machineConfigs).map(({ name }) => name));
    const isLeftOver = (name: unknown) => /^99.*generated-kubelet/.test(String(name));
    const isOfUser = (config: Fields): boolean => {
      const user = users.get(config.name);
      return user !== undefined && isDeepStrictEqual(marks(config), marks({ ...user, owners: user.ownerReferences }));
    };
    const machineConfigs = listOf(step.machineConfigs).filter(
      (config) => kept.has(config.name) || !isLeftOver(config.name) || !isOfUser(config),
    );
    return { ...step, machineConfigs };
  });
  return { expected, actual: { ...actual, steps } };
};

const marks = ({ labels, annotations, owners }: Fields): unknown => [
  fieldsOf(labels),
  fieldsOf(annotations),
  listOf(owners),
];

export const kubeletCorrections: Readonly<Record<string, Correction>> = { suffixPerPool, suffixAnnotation, usersStay };
