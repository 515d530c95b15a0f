import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject, ObjectMeta } from '../../apimachinery/objects/object.ts';
import { copyJson } from '../../apimachinery/objects/object-text.ts';
import { child, defined, items, look, number, type Plain } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { strategy } from '../base/strategy.ts';
import { annotationsFor, fieldsIn, SPEC_FORMS, STATUS_FORMS, withoutForms } from './autoscaler-annotations.ts';
import { autoscalerCauses, autoscalerLeniency, autoscalerStatusCauses } from './autoscaler-rules.ts';

const utilizationOf = (metric: Plain | undefined): number | undefined =>
  number(look(metric, 'resource', 'target'), 'averageUtilization');

const isCpu = (metric: Plain): boolean => metric.type === 'Resource' && look(metric, 'resource').name === 'cpu';

const isCpuTarget = (metric: Plain): boolean => isCpu(metric) && utilizationOf(metric) !== undefined;

const cpuMetric = (value: Plain): Plain => ({ type: 'Resource', resource: { name: 'cpu', ...value } });

const withAnnotations = (
  metadata: ObjectMeta,
  annotations: Readonly<Record<string, string>> | undefined,
): ObjectMeta => {
  const { annotations: _old, ...rest } = metadata;
  return annotations === undefined || Object.keys(annotations).length === 0 ? rest : { ...rest, annotations };
};

const STORED = 'autoscaling/v2';

const withoutValue = new WeakSet<object>();

/**
 * Converts an autoscaler of `autoscaling/v1` to `autoscaling/v2`. The only metric field of v1 is the CPU. In v1, all
 * other metrics and fields of v2 are annotations.
 */
function encode(object: ApiObject): ApiObject {
  if (object.apiVersion === STORED) return object;
  const { targetCPUUtilizationPercentage: target, ...spec } = look(object, 'spec');
  const { currentCPUUtilizationPercentage: current, currentReplicas: replicas = 0, ...status } = look(object, 'status');
  const { annotations } = object.metadata;
  const { metrics: others = [], currentMetrics, conditions, behavior } = fieldsIn(annotations);
  const own = target === undefined ? [] : [cpuMetric({ target: { type: 'Utilization', averageUtilization: target } })];
  const metrics = [...others, ...own];
  const ownCurrent = current === undefined ? undefined : [cpuMetric({ current: { averageUtilization: current } })];
  const shown =
    isRecord(object.status) && withoutValue.has(object.status) ? ownCurrent : (currentMetrics ?? ownCurrent);
  return {
    ...object,
    apiVersion: STORED,
    metadata: withAnnotations(object.metadata, withoutForms(annotations)),
    spec: defined({ ...spec, metrics: metrics.length === 0 ? undefined : metrics, behavior }),
    status: defined({
      ...status,
      currentReplicas: replicas === 0 ? undefined : replicas,
      currentMetrics: shown ?? null,
      conditions,
    }),
  };
}

function decode(object: ApiObject): ApiObject {
  const { metrics: _metrics, behavior: _behavior, ...spec } = look(object, 'spec');
  const { currentMetrics: _current, conditions: _conditions, ...status } = look(object, 'status');
  const metrics = items(look(object, 'spec'), 'metrics');
  const target = utilizationOf(metrics.find(isCpuTarget));
  const current = items(look(object, 'status'), 'currentMetrics')
    .filter(isCpu)
    .map((metric) => number(look(metric, 'resource', 'current'), 'averageUtilization'))
    .findLast((value) => value !== undefined);
  const others = metrics.filter((metric) => !isCpuTarget(metric));
  const annotations = {
    ...withoutForms(object.metadata.annotations),
    ...annotationsFor(look(object, 'spec'), look(object, 'status'), others),
  };
  return {
    ...object,
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(object.metadata, annotations),
    spec: defined({ ...spec, targetCPUUtilizationPercentage: target }),
    status: defined({
      currentReplicas: 0,
      desiredReplicas: 0,
      ...status,
      currentCPUUtilizationPercentage: current,
    }),
  };
}

/** Converts autoscalers between v1 and v2. */
export const autoscalerStorage: NonNullable<KindDefinition['storedAs']> = {
  resource: 'autoscaling/horizontalpodautoscalers',
  encode,
  decode,
  keep(encoded, stored, part) {
    const kept = { ...encoded };
    if (part !== 'spec') kept.spec = stored.spec;
    if (part !== 'status') kept.status = stored.status;
    return kept;
  },
};

const SCALE_UP = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const SCALE_DOWN = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };

function defaultBehavior(spec: Plain): void {
  if (!isRecord(spec.behavior)) return;
  const { behavior } = spec;
  behavior.scaleUp = withRules(look(behavior, 'scaleUp'), SCALE_UP);
  behavior.scaleDown = withRules(look(behavior, 'scaleDown'), SCALE_DOWN);
}

/**
 * Sets the default scaling rules. The function keeps an empty list of policies, so that the validation can refuse the
 * list.
 */
function withRules(rules: Plain, usual: Plain): Plain {
  const { policies, ...others } = copyJson(usual);
  return defined({ ...others, policies: given(rules, 'policies') === null ? policies : undefined, ...rules });
}

/** Returns the rules of an autoscaler. */
const rules = (inner: (object: ApiObject) => ApiObject) => ({
  validate: (object: ApiObject): StatusCause[] => autoscalerCauses(inner(object)),
  validateUpdate: (object: ApiObject, old: ApiObject, { subresource }: { readonly subresource: string }) =>
    subresource === 'status'
      ? autoscalerStatusCauses(object)
      : autoscalerCauses(inner(object), autoscalerLeniency(old)),
});

const prepare = (object: ApiObject): void => {
  object.status = { currentReplicas: 0, desiredReplicas: 0 };
};

/** Sets the annotations in `names` to their values in `old`. */
function keepForms(object: ApiObject, old: ApiObject | undefined, names: readonly string[]): void {
  const own = Object.entries(object.metadata.annotations ?? {}).filter(([name]) => !names.includes(name));
  const kept = Object.entries(old?.metadata.annotations ?? {}).filter(([name]) => names.includes(name));
  object.metadata = withAnnotations(object.metadata, Object.fromEntries([...own, ...kept]));
}

const defaultReplicas = (object: ApiObject): void => {
  child(object, 'spec').minReplicas ??= 1;
};

const DEFAULT_CPU_PERCENT = 80;

export const autoscalerV1Strategy = {
  ...strategy({
    setDefaults(object) {
      defaultReplicas(object);
      // If the annotation contains metrics, the server sets no default metric.
      if ((fieldsIn(object.metadata.annotations).metrics ?? []).length === 0) {
        child(object, 'spec').targetCPUUtilizationPercentage ??= DEFAULT_CPU_PERCENT;
      }
      // The server writes the annotations. Each annotation therefore has the same manager as its field.
      const isAnnotated = fieldsIn(object.metadata.annotations).currentMetrics !== undefined;
      Object.assign(object, decode(encode(object)));
      if (!isAnnotated && isRecord(object.status)) withoutValue.add(object.status);
    },
    // A write of the spec does not change the status, and a write of the status does not change the spec.
    prepareForCreate(object) {
      prepare(object);
      keepForms(object, undefined, STATUS_FORMS);
    },
    prepareForUpdate: (object, old, { subresource }) =>
      keepForms(object, old, subresource === 'status' ? SPEC_FORMS : STATUS_FORMS),
  }),
  ...rules(encode),
};

const prepareV2 = (object: ApiObject): void => {
  object.status = { desiredReplicas: 0, currentMetrics: null };
};

export const autoscalerStrategy = {
  ...strategy({
    setDefaults(object) {
      // The function removes the annotations of v1, because `autoscaling/v2` has a field for each of them.
      object.metadata = withAnnotations(object.metadata, withoutForms(object.metadata.annotations));
      defaultReplicas(object);
      const spec = child(object, 'spec');
      if (!Array.isArray(spec.metrics) || !spec.metrics.some(isRecord)) {
        const target = { type: 'Utilization', averageUtilization: DEFAULT_CPU_PERCENT };
        spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
      }
      defaultBehavior(spec);
    },
    prepareForCreate: prepareV2,
  }),
  ...rules((object) => object),
};
