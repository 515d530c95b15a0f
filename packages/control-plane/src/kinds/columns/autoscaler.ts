import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { AGE, column, countAt, NAME, NONE, shownAt, shownFirst, textAt } from './column.ts';

/** The field that contains the value of a metric, for each metric type. */
const SOURCES: Readonly<Record<string, string>> = {
  Resource: 'resource',
  ContainerResource: 'containerResource',
  Pods: 'pods',
  External: 'external',
  Object: 'object',
};

const WITH_TOTAL = ['External', 'Object'];

const UNKNOWN = '<unknown>';
const NIL = '<nil>';

const percent = (value: number | undefined, otherwise: string): string =>
  value === undefined ? otherwise : `${value}%`;

/**
 * Formats a quantity of an autoscaler. Without a status, the text is `<unknown>`. As in kube-apiserver, the text is
 * `<nil>` if the status lacks the quantity.
 */
const quantity = (holder: Plain, field: string, isKnown: boolean): string =>
  text(holder, field) || (isKnown ? NIL : UNKNOWN);

function shownMetric(metric: Plain, status: Plain | undefined): string {
  const type = text(metric, 'type');
  const field = SOURCES[type];
  if (field === undefined) return '<unknown type>';
  const source = look(metric, field);
  const target = look(source, 'target');
  const current = look(status, field, 'current');
  const isKnown = isRecord(status?.[field]);
  const average = text(target, 'averageValue');
  if (type === 'Pods') return `${quantity(current, 'averageValue', isKnown)}/${average}`;
  if (WITH_TOTAL.includes(type)) {
    return average === ''
      ? `${quantity(current, 'value', isKnown)}/${text(target, 'value')}`
      : `${text(current, 'averageValue') || UNKNOWN}/${average} (avg)`;
  }
  const name = text(source, 'name');
  if (average !== '') return `${name}: ${quantity(current, 'averageValue', isKnown)}/${average}`;
  const now = percent(number(current, 'averageUtilization'), UNKNOWN);
  return `${name}: ${now}/${percent(number(target, 'averageUtilization'), '<auto>')}`;
}

function shownTargets(autoscaler: ApiObject): string {
  const statuses = items(look(autoscaler, 'status'), 'currentMetrics');
  const metrics = items(look(autoscaler, 'spec'), 'metrics').map((metric, at) => shownMetric(metric, statuses[at]));
  return metrics.length === 0 ? NONE : shownFirst(metrics, 2, ', ');
}

export const autoscalerColumns: readonly PrinterColumn[] = [
  NAME,
  column(
    'Reference',
    (object) => `${textAt(object, 'spec.scaleTargetRef.kind')}/${textAt(object, 'spec.scaleTargetRef.name')}`,
    {
      doc: 'scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.',
    },
  ),
  column('Targets', shownTargets, { doc: ['V2HorizontalPodAutoscalerSpec', 'metrics'] }),
  column('MinPods', (object) => shownAt(object, 'spec.minReplicas', '<unset>'), {
    doc: ['V2HorizontalPodAutoscalerSpec', 'minReplicas'],
  }),
  column('MaxPods', (object) => countAt(object, 'spec.maxReplicas'), {
    doc: ['V2HorizontalPodAutoscalerSpec', 'maxReplicas'],
  }),
  column('Replicas', (object) => countAt(object, 'status.currentReplicas'), {
    doc: ['V2HorizontalPodAutoscalerStatus', 'currentReplicas'],
  }),
  AGE,
];
