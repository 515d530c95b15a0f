import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';

/** Source: conversion.go of `pkg/apis/autoscaling/v1` in Kubernetes. */
const PREFIX = 'autoscaling.alpha.kubernetes.io/';
const METRICS = `${PREFIX}metrics`;
const CURRENT_METRICS = `${PREFIX}current-metrics`;
const CONDITIONS = `${PREFIX}conditions`;
const BEHAVIOR = `${PREFIX}behavior`;
export const AUTOSCALER_FORMS: readonly string[] = [
  METRICS,
  CURRENT_METRICS,
  CONDITIONS,
  BEHAVIOR,
  `${PREFIX}scale-down-tolerance`,
  `${PREFIX}scale-up-tolerance`,
];

type Annotations = Readonly<Record<string, string>>;

export const STATUS_FORMS: readonly string[] = [CURRENT_METRICS, CONDITIONS];
export const SPEC_FORMS: readonly string[] = AUTOSCALER_FORMS.filter((name) => !STATUS_FORMS.includes(name));

/** Converts a metric source or a metric status to the form of `autoscaling/v1`. */
type Form = (source: Plain) => Plain;

const ZERO = '0';

const withoutNothing = (fields: Plain): Plain =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));

/** Returns a label selector with its fields and labels in the order of Go. */
function selectorOf(selector: unknown): Plain | undefined {
  if (!isRecord(selector)) return undefined;
  const { matchLabels, matchExpressions } = selector;
  const sorted = isRecord(matchLabels) ? Object.entries(matchLabels).toSorted(([a], [b]) => (a < b ? -1 : 1)) : [];
  const expressions = items({ matchExpressions }, 'matchExpressions').map(({ key, operator, values }) =>
    withoutNothing({ key, operator, values }),
  );
  return withoutNothing({
    matchLabels: sorted.length === 0 ? undefined : Object.fromEntries(sorted),
    matchExpressions: expressions.length === 0 ? undefined : expressions,
  });
}

const referenceOf = (reference: unknown): Plain => {
  const { kind = '', name = '', apiVersion } = look(reference);
  return withoutNothing({ kind, name, apiVersion: apiVersion === '' ? undefined : apiVersion });
};

const OLD_SOURCES: Readonly<Record<string, Form>> = {
  object: ({ describedObject, target, metric }) => ({
    target: referenceOf(describedObject),
    metricName: text(metric, 'name'),
    targetValue: look(target).value ?? ZERO,
    selector: selectorOf(look(metric).selector),
    averageValue: look(target).averageValue,
  }),
  pods: ({ target, metric }) => ({
    metricName: text(metric, 'name'),
    targetAverageValue: look(target).averageValue ?? ZERO,
    selector: selectorOf(look(metric).selector),
  }),
  resource: ({ name, target }) => ({
    name,
    targetAverageUtilization: look(target).averageUtilization,
    targetAverageValue: look(target).averageValue,
  }),
  containerResource: ({ name, target, container }) => ({
    name,
    targetAverageUtilization: look(target).averageUtilization,
    targetAverageValue: look(target).averageValue,
    container,
  }),
  external: ({ target, metric }) => ({
    metricName: text(metric, 'name'),
    metricSelector: selectorOf(look(metric).selector),
    targetValue: look(target).value,
    targetAverageValue: look(target).averageValue,
  }),
};

const OLD_STATUSES: Readonly<Record<string, Form>> = {
  object: ({ describedObject, current, metric }) => ({
    target: referenceOf(describedObject),
    metricName: text(metric, 'name'),
    currentValue: look(current).value ?? ZERO,
    selector: selectorOf(look(metric).selector),
    averageValue: look(current).averageValue,
  }),
  pods: ({ current, metric }) => ({
    metricName: text(metric, 'name'),
    currentAverageValue: look(current).averageValue ?? ZERO,
    selector: selectorOf(look(metric).selector),
  }),
  resource: ({ name, current }) => ({
    name,
    currentAverageUtilization: look(current).averageUtilization,
    currentAverageValue: look(current).averageValue ?? ZERO,
  }),
  containerResource: ({ name, current, container }) => ({
    name,
    currentAverageUtilization: look(current).averageUtilization,
    currentAverageValue: look(current).averageValue ?? ZERO,
    container,
  }),
  external: ({ current, metric }) => ({
    metricName: text(metric, 'name'),
    metricSelector: selectorOf(look(metric).selector),
    currentValue: look(current).value ?? ZERO,
    currentAverageValue: look(current).averageValue,
  }),
};

const metricOf = (name: unknown, selector: unknown): Plain => withoutNothing({ name: name ?? '', selector });

const isZero = (quantity: unknown): boolean => quantity === undefined || Number.parseFloat(String(quantity)) === 0;

const resourceTarget = ({ targetAverageUtilization: averageUtilization, targetAverageValue: averageValue }: Plain) =>
  withoutNothing({
    type: averageUtilization === undefined ? 'AverageValue' : 'Utilization',
    averageValue,
    averageUtilization,
  });

const NEW_SOURCES: Readonly<Record<string, Form>> = {
  object: ({ target, metricName, targetValue, selector, averageValue }) => ({
    describedObject: referenceOf(target),
    target: withoutNothing(
      averageValue === undefined
        ? { type: 'Value', value: targetValue ?? ZERO }
        : { type: 'AverageValue', value: isZero(targetValue) ? undefined : targetValue, averageValue },
    ),
    metric: metricOf(metricName, selector),
  }),
  pods: ({ metricName, targetAverageValue, selector }) => ({
    metric: metricOf(metricName, selector),
    target: { type: 'AverageValue', averageValue: targetAverageValue ?? ZERO },
  }),
  resource: (source) => ({ name: source.name, target: resourceTarget(source) }),
  containerResource: (source) => ({
    name: source.name,
    target: resourceTarget(source),
    container: source.container,
  }),
  external: ({ metricName, metricSelector, targetValue: value, targetAverageValue: averageValue }) => ({
    metric: metricOf(metricName, metricSelector),
    target: withoutNothing({ type: value === undefined ? 'AverageValue' : 'Value', value, averageValue }),
  }),
};

const resourceCurrent = ({ currentAverageUtilization, currentAverageValue }: Plain): Plain =>
  withoutNothing({ averageValue: currentAverageValue ?? ZERO, averageUtilization: currentAverageUtilization });

const NEW_STATUSES: Readonly<Record<string, Form>> = {
  object: ({ target, metricName, currentValue, selector, averageValue }) => ({
    metric: metricOf(metricName, selector),
    current: withoutNothing({ value: currentValue ?? ZERO, averageValue }),
    describedObject: referenceOf(target),
  }),
  pods: ({ metricName, currentAverageValue, selector }) => ({
    metric: metricOf(metricName, selector),
    current: { averageValue: currentAverageValue ?? ZERO },
  }),
  resource: (status) => ({ name: status.name, current: resourceCurrent(status) }),
  containerResource: (status) => ({
    name: status.name,
    current: resourceCurrent(status),
    container: status.container,
  }),
  external: ({ metricName, metricSelector, currentValue, currentAverageValue: averageValue }) => ({
    metric: metricOf(metricName, metricSelector),
    current: withoutNothing({ value: currentValue ?? ZERO, averageValue }),
  }),
};

/** Each metric has its fields in the order of Go. */
const converted = (metrics: readonly Plain[], forms: Readonly<Record<string, Form>>): Plain[] =>
  metrics.map((metric) => {
    const result: Record<string, unknown> = { type: text(metric, 'type') };
    for (const [field, form] of Object.entries(forms)) {
      const part = metric[field];
      if (isRecord(part)) result[field] = withoutNothing(form(part));
    }
    return result;
  });

/** Formats a value as JSON. As in Go, HTML characters are escaped. */
const goJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Formats the annotation for the scaling behavior, with the field names of an internal Go type. */
function behaviorText(behavior: Plain): string {
  const rules = (direction: unknown): Plain | null => {
    if (!isRecord(direction)) return null;
    const { stabilizationWindowSeconds, selectPolicy, policies, tolerance } = direction;
    return {
      StabilizationWindowSeconds: stabilizationWindowSeconds ?? null,
      SelectPolicy: selectPolicy ?? null,
      Policies: Array.isArray(policies)
        ? items({ policies }, 'policies').map(({ type = '', value = 0, periodSeconds = 0 }) => ({
            Type: type,
            Value: value,
            PeriodSeconds: periodSeconds,
          }))
        : null,
      Tolerance: tolerance ?? null,
    };
  };
  return goJson({ ScaleUp: rules(behavior.scaleUp), ScaleDown: rules(behavior.scaleDown) });
}

/** Returns the value of a field whose name may have other capitals. In Go, field names in JSON are case-insensitive. */
function anyCase(holder: unknown, name: string): unknown {
  const key = Object.keys(look(holder)).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : look(holder)[key];
}

function behaviorOf(value: unknown): Plain | undefined {
  const rules = (name: string): Plain | undefined => {
    const direction = anyCase(value, name);
    if (!isRecord(direction)) return undefined;
    const policies = anyCase(direction, 'policies');
    return withoutNothing({
      stabilizationWindowSeconds: anyCase(direction, 'stabilizationWindowSeconds'),
      selectPolicy: anyCase(direction, 'selectPolicy'),
      policies: Array.isArray(policies)
        ? policies.map((policy) => ({
            type: anyCase(policy, 'type') ?? '',
            value: anyCase(policy, 'value') ?? 0,
            periodSeconds: anyCase(policy, 'periodSeconds') ?? 0,
          }))
        : undefined,
      tolerance: anyCase(direction, 'tolerance'),
    });
  };
  const behavior = withoutNothing({ scaleUp: rules('scaleUp'), scaleDown: rules('scaleDown') });
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

/** Removes the annotations that `autoscaling/v2` has as fields. */
export function withoutForms(annotations: Annotations | undefined): Annotations | undefined {
  if (annotations === undefined || !AUTOSCALER_FORMS.some((key) => Object.hasOwn(annotations, key))) return annotations;
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !AUTOSCALER_FORMS.includes(key)));
}

export function annotationsFor(spec: Plain, status: Plain, others: readonly Plain[]): Annotations {
  const annotations: Record<string, string> = {};
  if (others.length > 0) annotations[METRICS] = goJson(converted(others, OLD_SOURCES));
  const current = items(status, 'currentMetrics');
  if (current.length > 0) annotations[CURRENT_METRICS] = goJson(converted(current, OLD_STATUSES));
  if (isRecord(spec.behavior)) annotations[BEHAVIOR] = behaviorText(spec.behavior);
  const conditions = items(status, 'conditions');
  if (conditions.length > 0) {
    annotations[CONDITIONS] = goJson(
      conditions.map(({ type, status: state, lastTransitionTime = null, reason, message }) => ({
        type,
        status: state,
        lastTransitionTime,
        ...withoutNothing({ reason: reason || undefined, message: message || undefined }),
      })),
    );
  }
  return annotations;
}

/** The function ignores invalid annotations. */
export interface AnnotatedFields {
  readonly metrics?: readonly Plain[] | undefined;
  readonly currentMetrics?: readonly Plain[] | undefined;
  readonly conditions?: readonly Plain[] | undefined;
  readonly behavior?: Plain | undefined;
}

export function fieldsIn(annotations: Annotations | undefined): AnnotatedFields {
  const read = (key: string): unknown => {
    const given = annotations?.[key];
    if (given === undefined) return undefined;
    try {
      return JSON.parse(given);
    } catch {
      return undefined; // As in Go, an annotation that is not JSON has no effect.
    }
  };
  const list = (key: string): Plain[] | undefined => {
    const value = read(key);
    return Array.isArray(value) && value.every(isRecord) ? value : undefined;
  };
  const metrics = list(METRICS);
  const currentMetrics = list(CURRENT_METRICS);
  return {
    metrics: metrics && converted(metrics, NEW_SOURCES),
    currentMetrics: currentMetrics && converted(currentMetrics, NEW_STATUSES),
    conditions: list(CONDITIONS),
    behavior: behaviorOf(read(BEHAVIOR)),
  };
}
