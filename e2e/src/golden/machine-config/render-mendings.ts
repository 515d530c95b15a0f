import { isDeepStrictEqual } from 'node:util';
import { SUPPORTED_EXTENSIONS } from '@mcm/machine-config';
import type { Compared, Mending } from './mendings.ts';

type Fields = Record<string, unknown>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** When there is an error, nothing else counts. */
const onlyErrors: Mending = (_recorded, { expected, actual }) => {
  if (typeof fieldsOf(expected).error !== 'string') return { expected, actual };
  const [{ error: theirs }, { error: ours }] = [fieldsOf(expected), fieldsOf(actual)];
  return { expected: { error: theirs }, actual: { error: ours } };
};

/** Parts of an answer that show how the original serialises. */
const withoutBytes: Mending = (_recorded, { expected, actual }) => {
  const { serialisedPrefix: _prefix, ...rest } = fieldsOf(expected);
  return { expected: rest, actual };
};

/** A number that JSON in JavaScript does not hold exactly changes the text that is hashed. */
const exactNumbersOnly: Mending = ({ fn, input }, { expected, actual }) => {
  const inexact = /[:,[]-?\d{16,}/.test(JSON.stringify(input).replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
  if (fn !== 'name' || !inexact) return { expected, actual };
  return { expected: { error: fieldsOf(expected).error }, actual: { error: fieldsOf(actual).error } };
};

const PREFIX = /^new machineconfig "[^"]*" is not reconcilable against "[^"]*": /;

/** The original names the old config where it means the new one: the reason counts, not the frame. */
const reasonsOnly: Mending = ({ fn }, { expected, actual }) => {
  const { error } = fieldsOf(expected);
  if (fn !== 'reconcile' || typeof error !== 'string') return { expected, actual };
  return { expected: { ...fieldsOf(expected), error: error.replace(PREFIX, '') }, actual };
};

const FRAME =
  /^(could not generate rendered MachineConfig: )?(reconciliation failed between current config "[^"]*" and base config "[^"]*": |render reconciliation error: (new machineconfig "[^"]*" is not reconcilable against "[^"]*"|machineconfig "[^"]*" cannot follow current config "[^"]*"): )/;

const refusalOf = (text: string): string =>
  text
    .replace(FRAME, '')
    .replace(/; (component errors|gone since then): .*$/s, '')
    .replace(/^parsing old Ignition config from machineconfig "[^"]*" failed: /, '');

/** Another MachineConfig is blamed where the original blames a wrong one: the reason stays. */
const blame: Mending = (_recorded, { expected, actual }) => {
  const [theirs, ours] = [fieldsOf(expected).error, fieldsOf(actual).error];
  if (typeof theirs !== 'string' || typeof ours !== 'string' || !FRAME.test(theirs) || !FRAME.test(ours)) {
    return { expected, actual };
  }
  return {
    expected: { ...fieldsOf(expected), error: refusalOf(theirs) },
    actual: { ...fieldsOf(actual), error: refusalOf(ours) },
  };
};

/** Extensions are checked with and without an Ignition config. */
const extensionsAlways: Mending = ({ fn, input }, { expected, actual }) => {
  const spec = fieldsOf(input.spec);
  const unknown = (Array.isArray(spec.extensions) ? spec.extensions : []).filter(
    (one) => !SUPPORTED_EXTENSIONS.has(one),
  );
  if (fn !== 'validate' || spec.config || unknown.length === 0) return { expected, actual };
  return { expected: { error: `invalid extensions found: [${unknown.join(' ')}]` }, actual };
};

/** A file without content is not marked to replace what is there, so that the result stays valid. */
const withoutForcedOverwrite: Mending = (_recorded, compared) => {
  const files = (answer: unknown): unknown => {
    const merged = fieldsOf(fieldsOf(answer).machineConfig ?? answer);
    return fieldsOf(fieldsOf(fieldsOf(merged.spec).config).storage).files;
  };
  const [theirs, ours] = [files(compared.expected), files(compared.actual)];
  if (!Array.isArray(theirs) || !Array.isArray(ours)) return compared;
  const forced = theirs.map(
    (file, index) =>
      isObject(file) &&
      file.overwrite === true &&
      fieldsOf(file.contents).source === undefined &&
      ours[index]?.overwrite === undefined,
  );
  if (!forced.includes(true)) return compared;
  return { expected: replaceFiles(compared, theirs, forced), actual: compared.actual };
};

function replaceFiles({ expected, actual }: Compared, theirs: readonly unknown[], forced: readonly boolean[]): unknown {
  const copy = structuredClone(expected) as Fields;
  const merged = fieldsOf(copy.machineConfig ?? copy);
  const storage = fieldsOf(fieldsOf(fieldsOf(merged.spec).config).storage);
  storage.files = theirs.map((file, index) => {
    const { overwrite, ...rest } = fieldsOf(file);
    return forced[index] ? rest : { ...rest, overwrite };
  });
  // The name follows from the content.
  if ('renderedName' in copy) copy.renderedName = fieldsOf(actual).renderedName;
  if ('mergedIgnitionError' in copy) copy.mergedIgnitionError = null;
  if (copy.machineConfig) {
    const { name } = fieldsOf(fieldsOf(fieldsOf(actual).machineConfig).metadata);
    fieldsOf(fieldsOf(copy.machineConfig).metadata).name = name;
  }
  return copy;
}

const SIZE = /^(rendered MachineConfig \S+ is too large \(\d+ bytes, max \d+ bytes\)).*$/s;

/** The hint at the end of the size error is ours. */
const sizeHint: Mending = (_recorded, { expected, actual }) => {
  const [theirs, ours] = [fieldsOf(expected).error, fieldsOf(actual).error];
  if (typeof theirs !== 'string' || typeof ours !== 'string' || !SIZE.test(theirs)) return { expected, actual };
  return { expected: { error: theirs.replace(SIZE, '$1') }, actual: { error: ours.replace(SIZE, '$1') } };
};

/** A config that was refused stops no pool: the rest is rendered and the pool says so; with an empty selector it is of no pool. */
const refusedConfigs: Mending = ({ fn, input }, { expected, actual }) => {
  const configs = [input.kubeletConfigs, input.containerRuntimeConfigs].flat().filter(isObject);
  const refused = configs.some(({ status }) => {
    const { conditions } = fieldsOf(status);
    const last = fieldsOf(Array.isArray(conditions) ? conditions.at(-1) : undefined);
    return last.type === 'Failure' || (last.type === 'Accepted' && last.status === 'False');
  });
  const steps = fieldsOf(expected).steps;
  if (fn !== 'render-sync' || !refused || !Array.isArray(steps)) return { expected, actual };
  const stopped = steps.some((step) => / has not completed$/.test(String(fieldsOf(step).error)));
  if (!stopped) return { expected, actual };
  const rendered = (fieldsOf(actual).steps as Fields[]).every((step) => step.error === null);
  return { expected: { rendered: true }, actual: { rendered } };
};

/** The same content with its keys in another order is no change: nothing is written. */
const keyOrder: Mending = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'apply') return { expected, actual };
  const configOf = (one: unknown) => fieldsOf(fieldsOf(one).spec).config;
  const [stored, wanted] = [configOf(input.existing), configOf(input.required)];
  const reordered = isDeepStrictEqual(stored, wanted) && JSON.stringify(stored) !== JSON.stringify(wanted);
  return reordered ? { expected: { ...fieldsOf(expected), modified: false }, actual } : { expected, actual };
};

/** A MachineConfig that changes its labels wakes the pool that it leaves as well. */
const labelChanges: Mending = ({ fn, input }, { expected, actual }) => {
  const labelsOf = (one: unknown) => fieldsOf(fieldsOf(one).metadata).labels;
  if (fn !== 'render-event' || isDeepStrictEqual(labelsOf(input.old), labelsOf(input.machineConfig))) {
    return { expected, actual };
  }
  const ours = fieldsOf(actual).enqueued;
  const woken = [fieldsOf(expected).enqueued].flat().filter((pool) => Array.isArray(ours) && ours.includes(pool));
  return { expected, actual: { enqueued: woken } };
};

/** The same for files of templates. */
const templatesWithoutForcedOverwrite: Mending = ({ fn }, { expected, actual }) =>
  fn === 'template' ? { expected: withoutForced(expected), actual } : { expected, actual };

function withoutForced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutForced);
  if (!isObject(value)) return value;
  const { overwrite, ...rest } = value;
  const fields = 'path' in value && fieldsOf(value.contents).source === undefined ? rest : value;
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, withoutForced(field)]));
}

const REFUSED = /MachineConfig [\w.-]+: /g;

/** A refused MachineConfig is named. */
const refusedIsNamed: Mending = ({ fn }, { expected, actual }) => {
  if (!fn.startsWith('render')) return { expected, actual };
  return { expected, actual: JSON.parse(JSON.stringify(actual).replace(REFUSED, '')) };
};

/** Conditions end with what mends it. */
const cures: Mending = ({ fn }, { expected, actual }) =>
  fn === 'render-sync' ? { expected: withoutCures(expected), actual: withoutCures(actual) } : { expected, actual };

function withoutCures(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCures);
  if (typeof value === 'string') return value.replace(/\. To mend it: .*$/, '').trimEnd();
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutCures(field)]));
}

/** Reasons of a RenderDegraded that the original tells of elsewhere: in an event, and in the ControllerConfig. */
const TOLD_ELSEWHERE = ['SelectingAll', 'TemplatesFailed'];

/** A pool whose selector is empty, or whose templates fail, says so in a condition as well. */
const toldOfPools: Mending = ({ fn }, { expected, actual }) => {
  if (fn !== 'render-sync') return { expected, actual };
  const steps = [fieldsOf(actual).steps ?? []].flat().map((step) => {
    const pools = Object.entries(fieldsOf(fieldsOf(step).pools)).map(([name, pool]) => {
      const conditions = (fieldsOf(pool).conditions as Fields[]).filter(
        ({ type, status, reason }) =>
          !(type === 'RenderDegraded' && status === 'True' && TOLD_ELSEWHERE.includes(String(reason))),
      );
      return [name, { ...fieldsOf(pool), conditions }];
    });
    return { ...fieldsOf(step), pools: Object.fromEntries(pools) };
  });
  return { expected, actual: { ...fieldsOf(actual), steps } };
};

export const renderMendings: readonly Mending[] = [
  refusedIsNamed,
  ...[onlyErrors, withoutBytes, exactNumbersOnly, reasonsOnly, blame, extensionsAlways, withoutForcedOverwrite],
  ...[sizeHint, refusedConfigs, keyOrder, labelChanges, templatesWithoutForcedOverwrite],
  ...[cures, toldOfPools],
];
