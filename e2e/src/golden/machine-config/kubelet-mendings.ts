import { ConfigAnnotations } from '@mcm/machine-config';
import type { Mending } from './mendings.ts';

type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);

const OURS = ConfigAnnotations.MachineConfigNameSuffixes;

const suffixesOf = (config: Fields): readonly unknown[] => {
  const text = fieldsOf(config.annotations)[OURS];
  return typeof text === 'string' ? Object.values(fieldsOf(JSON.parse(text))) : [];
};

const stepsOf = (answer: unknown): readonly Fields[] => listOf(fieldsOf(answer).steps);

/** Each pool has a suffix of its own, so that no object overwrites what another made: names differ where the original has one for all. */
const suffixPerPool: Mending = ({ fn }, { expected, actual }) => {
  if (fn !== 'kc-sync') return { expected, actual };
  const apart = stepsOf(actual).some((step) =>
    listOf(step.kubeletConfigs).some((config) => new Set(suffixesOf(config)).size > 1),
  );
  if (!apart) return { expected, actual };
  const verdicts = (answer: unknown) =>
    stepsOf(answer).map(({ error, kubeletConfigs }) => ({
      error,
      configs: listOf(kubeletConfigs).map(({ name, conditions, observedGeneration }) => ({
        name,
        conditions,
        observedGeneration,
      })),
    }));
  return { expected: verdicts(expected), actual: verdicts(actual) };
};

/** The annotation that remembers them is ours. */
const suffixAnnotation: Mending = ({ fn }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isObject(actual)) return { expected, actual };
  const steps = stepsOf(actual).map((step) => ({
    ...step,
    kubeletConfigs: listOf(step.kubeletConfigs).map((config) => {
      const { [OURS]: _ours, ...annotations } = fieldsOf(config.annotations);
      return { ...config, annotations };
    }),
  }));
  return { expected, actual: { ...actual, steps } };
};

/** A MachineConfig without a version is a user's, whatever its name begins with: it is not deleted. */
const usersStay: Mending = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'kc-sync' || !isObject(actual)) return { expected, actual };
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
    const machineConfigs = listOf(step.machineConfigs).filter(({ name }) => kept.has(name) || !users.has(name));
    return { ...step, machineConfigs };
  });
  return { expected, actual: { ...actual, steps } };
};

export const kubeletMendings: readonly Mending[] = [suffixPerPool, suffixAnnotation, usersStay];
