import { isDeepStrictEqual } from 'node:util';
import { isEmptySelector, selectorMatches } from '@mcm/api';
import { isRecord } from '@mcm/kube';
import { type MachineConfig, renderedName, SUPPORTED_EXTENSIONS } from '@mcm/machine-config';
import { renderSync } from '../calls/render-sync.ts';
import { differenceOf } from './compare.ts';
import type { Compared, Correction } from './correction.ts';

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});

const onlyErrors: Correction = (_recorded, { expected, actual }) => {
  const theirs = fieldsOf(expected);
  if (typeof theirs.error !== 'string') return { expected, actual };
  const set = Object.entries(theirs).filter(([, value]) => value !== '');
  const ours = Object.entries(fieldsOf(actual)).filter(
    ([key, value]) => key in theirs && (value !== '' || theirs[key]),
  );
  return { expected: Object.fromEntries(set), actual: Object.fromEntries(ours) };
};

/** Removes the parts of a result that depend on how the original serializes objects. */
const withoutBytes: Correction = (_recorded, { expected, actual }) => {
  const { serialisedPrefix: _prefix, ...rest } = fieldsOf(expected);
  return { expected: rest, actual };
};

const exactNumbersOnly: Correction = ({ fn, input }, { expected, actual }) => {
  const inexact = /[:,[]-?\d{16,}/.test(JSON.stringify(input).replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
  if (fn !== 'name' || !inexact) return { expected, actual };
  const counting = (answer: unknown) => {
    const { error, yaml } = fieldsOf(answer);
    return { error, yaml: typeof yaml === 'string' ? yaml.replaceAll(/-?\d{16,}|\d\.\d+e\+\d+/g, '<number>') : yaml };
  };
  return { expected: counting(expected), actual: counting(actual) };
};

const PREFIX = /^new machineconfig "[^"]*" is not reconcilable against "[^"]*": /;

/** At the start of an error, the original confuses the old and the new config. */
const reasonsOnly: Correction = ({ fn }, { expected, actual }) => {
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

/** In some errors, the original states the wrong MachineConfig. */
const blame: Correction = (_recorded, { expected, actual }) => {
  const [theirs, ours] = [fieldsOf(expected).error, fieldsOf(actual).error];
  if (typeof theirs !== 'string' || typeof ours !== 'string' || !FRAME.test(theirs) || !FRAME.test(ours)) {
    return { expected, actual };
  }
  return {
    expected: { ...fieldsOf(expected), error: refusalOf(theirs) },
    actual: { ...fieldsOf(actual), error: refusalOf(ours) },
  };
};

/** mcm checks the extensions of every MachineConfig. */
const extensionsAlways: Correction = ({ fn, input }, { expected, actual }) => {
  const { error } = fieldsOf(expected);
  if ((fn !== 'validate' && fn !== 'render') || typeof error === 'string') return { expected, actual };
  const specs = fn === 'validate' ? [input.spec] : [input.configs ?? []].flat().map((one) => fieldsOf(one).spec);
  const refused = specs.flatMap((spec) => unknownExtensions(fieldsOf(spec)) ?? []);
  return refused.length === 0 ? { expected, actual } : { expected: { error: refused[0] }, actual };
};

/** Returns the message about unknown extensions if a MachineConfig has no Ignition config. */
function unknownExtensions({ config, extensions }: Fields): string | undefined {
  const unknown = [extensions ?? []].flat().filter((one) => typeof one !== 'string' || !SUPPORTED_EXTENSIONS.has(one));
  return config || unknown.length === 0 ? undefined : `invalid extensions found: [${unknown.join(' ')}]`;
}

/** If a file has no content, mcm does not set `overwrite`, because the result would be invalid. */
const withoutForcedOverwrite: Correction = (_recorded, compared) => {
  const files = (answer: unknown): unknown => {
    const merged = fieldsOf(fieldsOf(answer).machineConfig ?? answer);
    return fieldsOf(fieldsOf(fieldsOf(merged.spec).config).storage).files;
  };
  const [theirs, ours] = [files(compared.expected), files(compared.actual)];
  if (!Array.isArray(theirs) || !Array.isArray(ours)) return compared;
  const forced = theirs.map(
    (file, index) =>
      isRecord(file) &&
      file.overwrite === true &&
      fieldsOf(file.contents).source === undefined &&
      ours[index]?.overwrite === undefined,
  );
  if (!forced.includes(true)) return compared;
  return { expected: replaceFiles(compared, theirs, forced), actual: compared.actual };
};

function replaceFiles({ expected }: Compared, theirs: readonly unknown[], forced: readonly boolean[]): unknown {
  const copy = structuredClone(expected) as Fields;
  const merged = fieldsOf(copy.machineConfig ?? copy);
  const storage = fieldsOf(fieldsOf(fieldsOf(merged.spec).config).storage);
  storage.files = theirs.map((file, index) => {
    const { overwrite, ...rest } = fieldsOf(file);
    return forced[index] ? rest : { ...rest, overwrite };
  });
  const name = (pool: string): string =>
    renderedName(pool, fieldsOf(merged.spec) as NonNullable<MachineConfig['spec']>);
  if ('renderedName' in copy) copy.renderedName = name(POOL_OF_MERGES);
  if (/overwrite must be false if source is unspecified/.test(String(copy.mergedIgnitionError))) {
    const others = String(copy.mergedIgnitionError).match(
      /^error at .*(?<!overwrite must be false if source is unspecified)$/m,
    );
    if (!others) copy.mergedIgnitionError = null;
  }
  if (copy.machineConfig) {
    const metadata = fieldsOf(fieldsOf(copy.machineConfig).metadata);
    metadata.name = name(String(listed(metadata.ownerReferences)[0]?.name));
  }
  return copy;
}

const POOL_OF_MERGES = 'worker';

const listed = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

const SIZE = /^(rendered MachineConfig \S+ is too large \(\d+ bytes, max \d+ bytes\)).*$/s;

const sizeHint: Correction = (_recorded, { expected, actual }) => {
  const [theirs, ours] = [fieldsOf(expected).error, fieldsOf(actual).error];
  if (typeof theirs !== 'string' || typeof ours !== 'string' || !SIZE.test(theirs)) return { expected, actual };
  return { expected: { error: theirs.replace(SIZE, '$1') }, actual: { error: ours.replace(SIZE, '$1') } };
};

const refusedConfigs: Correction = ({ fn, input }, { expected, actual }) => {
  const theirs = [fieldsOf(expected).steps ?? []].flat().map(fieldsOf);
  const ours = [fieldsOf(actual).steps ?? []].flat().map(fieldsOf);
  const stopped = theirs.findIndex(({ error }) => STOPPED.test(String(error)));
  if (fn !== 'render-sync' || stopped < 0 || ours.length !== theirs.length) return { expected, actual };
  const refused = [input.kubeletConfigs ?? [], input.containerRuntimeConfigs ?? []]
    .flat()
    .map(fieldsOf)
    .filter(isRefused);
  if (refused.length === 0) return { expected, actual };
  // After the original has refused a config, the original no longer updates the pools.
  const without = fieldsOf(renderSync({ ...input, ...accepted(input) } as never));
  const names = refused.map(({ metadata }) => String(fieldsOf(metadata).name));
  const later = [without.steps ?? []]
    .flat()
    .map(fieldsOf)
    .slice(stopped)
    .map((step) => {
      const pool = [input.pools ?? []].flat().find((one) => fieldsOf(fieldsOf(one).metadata).name === step.sync);
      const selecting = refused.filter(({ spec }) => selectsPool(fieldsOf(spec).machineConfigPoolSelector, pool));
      return { ...step, reported: selecting.length > 0 };
    });
  const oursLater: readonly Fields[] = ours.slice(stopped).map((step) => ({ ...step, reported: tellsOf(step, names) }));
  const reporting = oursLater.map(
    (step) => new Set(Object.keys(fieldsOf(step.pools)).filter((pool) => isReporting(step, pool, names))),
  );
  const withoutReports = (steps: readonly Fields[]): readonly Fields[] =>
    steps.map((step, index) => withoutDegraded(step, reporting[index] ?? new Set()));
  return {
    expected: { steps: [...theirs.slice(0, stopped), ...withoutReports(later)] },
    actual: { steps: [...ours.slice(0, stopped), ...withoutReports(oursLater)] },
  };
};

const accepted = ({ kubeletConfigs, containerRuntimeConfigs }: Fields): Fields => ({
  kubeletConfigs: [kubeletConfigs ?? []].flat().filter((one) => !isRefused(fieldsOf(one))),
  containerRuntimeConfigs: [containerRuntimeConfigs ?? []].flat().filter((one) => !isRefused(fieldsOf(one))),
});

const conditionsOf = (pool: unknown): readonly Fields[] => [fieldsOf(pool).conditions ?? []].flat().map(fieldsOf);

const tellsOf = (step: Fields, names: readonly string[]): boolean => isReporting(step, String(step.sync), names);

const isReporting = ({ pools }: Fields, pool: string, names: readonly string[]): boolean =>
  conditionsOf(fieldsOf(pools)[pool]).some(
    ({ type, status, reason, message, lastTransitionTime }) =>
      type === 'RenderDegraded' &&
      status === 'True' &&
      reason === 'ConfigRejected' &&
      lastTransitionTime === '<now>' &&
      names.some((name) => String(message).includes(`Config ${name} was refused: `)),
  );

function withoutDegraded({ pools, ...step }: Fields, reporting: ReadonlySet<string>): Fields {
  const kept = Object.entries(fieldsOf(pools)).map(([name, pool]) => [
    name,
    {
      ...fieldsOf(pool),
      conditions: conditionsOf(pool).filter(({ type }) => type !== 'RenderDegraded' || !reporting.has(name)),
    },
  ]);
  return { ...step, pools: Object.fromEntries(kept) };
}

const isRefused = ({ status }: Fields): boolean => {
  const last = fieldsOf([fieldsOf(status).conditions ?? []].flat().at(-1));
  return last.type === 'Failure' || (last.type === 'Accepted' && last.status === 'False');
};

const selectsPool = (selector: unknown, pool: unknown): boolean =>
  isRecord(selector) &&
  !isEmptySelector(selector) &&
  selectorMatches(selector, (fieldsOf(fieldsOf(pool).metadata).labels ?? {}) as Readonly<Record<string, string>>);

/** Matches the condition that the original writes for a pool with a refused config. */
const STOPPED = /^(KubeletConfig|ContainerRuntimeConfig) has not completed$/;

/** If only the order of keys differs, mcm writes nothing. */
const keyOrder: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'apply') return { expected, actual };
  const configOf = (one: unknown) => fieldsOf(fieldsOf(one).spec).config;
  const [stored, wanted] = [configOf(input.existing), configOf(input.required)];
  const reordered = isDeepStrictEqual(stored, wanted) && JSON.stringify(stored) !== JSON.stringify(wanted);
  const { metadata, spec } = fieldsOf(fieldsOf(expected).result);
  const was = fieldsOf(input.existing);
  const same = differenceOf(parts(was.metadata, was.spec), parts(metadata, spec)) === undefined;
  return reordered && same ? { expected: { ...fieldsOf(expected), modified: false }, actual } : { expected, actual };
};

/** Returns the parts of an object that are compared. */
function parts(metadata: unknown, spec: unknown): unknown {
  const { name, labels, annotations, ownerReferences } = fieldsOf(metadata);
  const zeros = { baseOSExtensionsContainerImage: '', fips: false, kernelType: '', osImageURL: '' };
  return { name, labels, annotations, ownerReferences, spec: { ...zeros, ...fieldsOf(spec) } };
}

/** After a change of a MachineConfig's labels, mcm also enqueues the pools that selected the MachineConfig before. */
const labelChanges: Correction = ({ fn, input }, { expected, actual }) => {
  const labelsOf = (one: unknown) => fieldsOf(fieldsOf(one).metadata).labels;
  if (fn !== 'render-event' || isDeepStrictEqual(labelsOf(input.old), labelsOf(input.machineConfig))) {
    return { expected, actual };
  }
  const theirs = [fieldsOf(expected).enqueued ?? []].flat();
  const left = [input.pools ?? []].flat().filter((pool) => {
    const selector = fieldsOf(fieldsOf(pool).spec).machineConfigSelector;
    return isRecord(selector) && selectorMatches(selector, labelsOf(input.old) as Record<string, string>);
  });
  // The original enqueues only the pools that match the current labels. mcm also enqueues the pools that match the
  // previous labels.
  const before = new Set(left.map((pool) => fieldsOf(fieldsOf(pool).metadata).name));
  const ours = [fieldsOf(actual).enqueued ?? []].flat().filter((name) => theirs.includes(name) || !before.has(name));
  return { expected: { enqueued: [...new Set(theirs)] }, actual: { enqueued: ours } };
};

/** If a file in the result of a template has no content, mcm does not set `overwrite` either. */
const templatesWithoutForcedOverwrite: Correction = ({ fn }, { expected, actual }) =>
  fn === 'template' ? { expected: withoutForced(expected), actual } : { expected, actual };

function withoutForced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutForced);
  if (!isRecord(value)) return value;
  const { overwrite, ...rest } = value;
  const fields = 'path' in value && fieldsOf(value.contents).source === undefined ? rest : value;
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, withoutForced(field)]));
}

/** In its errors, conditions and events, mcm names the MachineConfig that was refused. */
const refusedIsNamed: Correction = ({ fn, input }, { expected, actual }) => {
  if (!fn.startsWith('render')) return { expected, actual };
  const given = [input.configs, input.machineConfigs, input.steps]
    .flat()
    .map((one) => fieldsOf(one).putMachineConfig ?? one);
  const names = given.flatMap((one) => fieldsOf(fieldsOf(one).metadata).name ?? []);
  return {
    expected,
    actual: withoutNames(
      actual,
      names.map((name) => `MachineConfig ${name}: `),
    ),
  };
};

const TEXTS = new Set(['error', 'message', 'events']);

function withoutNames(value: unknown, names: readonly string[], key = ''): unknown {
  if (typeof value === 'string') {
    return TEXTS.has(key) ? names.reduce((text, name) => text.replaceAll(name, ''), value) : value;
  }
  if (Array.isArray(value)) return value.map((entry) => withoutNames(entry, names, key));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, entry]) => [field, withoutNames(entry, names, field)]));
}

const hints: Correction = ({ fn }, { expected, actual }) =>
  fn === 'render-sync' ? { expected: trimmed(expected), actual: withoutHints(actual) } : { expected, actual };

function trimmed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(trimmed);
  if (typeof value === 'string') return value.trimEnd();
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [key, trimmed(field)]))
    : value;
}

function withoutHints(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHints);
  if (typeof value === 'string') return value.replace(/\. To fix the error: .*$/, '').trimEnd();
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutHints(field)]));
}

/** In mcm, a pool also gets a condition if its selector is empty or its templates fail. */
const reportedOfPools: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'render-sync') return { expected, actual };
  const failing = [fieldsOf(fieldsOf(input.controllerConfig).status).conditions ?? []]
    .flat()
    .map(fieldsOf)
    .some(({ type, status }) => type === 'TemplateControllerFailing' && status === 'True');
  const selectsAll = (name: string) =>
    [input.pools ?? []].flat().some((pool) => {
      const { metadata, spec } = fieldsOf(pool);
      const { machineConfigSelector, nodeSelector } = fieldsOf(spec);
      const empty = [machineConfigSelector, nodeSelector].some((one) => isRecord(one) && isEmptySelector(one));
      return fieldsOf(metadata).name === name && empty;
    });
  const steps = [fieldsOf(actual).steps ?? []].flat().map((step) => {
    const pools = Object.entries(fieldsOf(fieldsOf(step).pools)).map(([name, pool]) => {
      const conditions = (fieldsOf(pool).conditions as Fields[]).filter(
        ({ type, status, reason, message, lastTransitionTime }) =>
          !(
            (type === 'RenderDegraded' || type === 'Degraded') &&
            status === 'True' &&
            lastTransitionTime === '<now>' &&
            ((reason === 'SelectingAll' && selectsAll(name) && isEmptySelectorOf(name, message)) ||
              (reason === 'TemplatesFailed' && failing && areFailedTemplatesOf(name, message)))
          ),
      );
      return [name, { ...fieldsOf(pool), conditions }];
    });
    return { ...fieldsOf(step), pools: Object.fromEntries(pools) };
  });
  return { expected, actual: { ...fieldsOf(actual), steps } };
};

const isEmptySelectorOf = (pool: string, message: unknown): boolean =>
  new RegExp(`^spec\\.(machineConfig|node)Selector of MachineConfigPool ${pool} is empty, .*$`).test(String(message));
const areFailedTemplatesOf = (pool: string, message: unknown): boolean =>
  new RegExp(
    `^Failed to render configuration for pool ${pool}: ControllerConfig \\S+ produces no MachineConfigs(: \\S.*)?$`,
  ).test(String(message));

export const renderCorrections: Readonly<Record<string, Correction>> = {
  refusedIsNamed,
  onlyErrors,
  withoutBytes,
  exactNumbersOnly,
  reasonsOnly,
  blame,
  extensionsAlways,
  withoutForcedOverwrite,
  sizeHint,
  refusedConfigs,
  keyOrder,
  labelChanges,
  templatesWithoutForcedOverwrite,
  hints,
  reportedOfPools,
};
