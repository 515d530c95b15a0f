import type { ApiObject } from '../../../apimachinery/objects/object.ts';
import { copyJson } from '../../../apimachinery/objects/object-text.ts';
import { defined, items, look, type Plain } from '../../../apimachinery/objects/plain.ts';
import { podOf } from '../pods.ts';
import { FAILURE_COUNT, failureCountOf, IGNORED_COUNT, ignoredCountOf, perIndexLimit, TRACKING } from './count.ts';
import { INDEX } from './indexes.ts';
import { assessFailure } from './policy.ts';

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

const LONGEST_BASE = 58;

function generateName(job: string, index: number): string {
  const end = `-${index}-`;
  return `${job.slice(0, LONGEST_BASE - end.length)}${end}`;
}

function failuresOf(job: ApiObject, previous: ApiObject | undefined): Record<string, string> {
  if (previous === undefined) return { [FAILURE_COUNT]: '0' };
  const { counts } = assessFailure(job, previous);
  const failures = failureCountOf(previous) + (counts ? 1 : 0);
  const others = ignoredCountOf(previous) + (counts ? 0 : 1);
  return defined({ [FAILURE_COUNT]: String(failures), [IGNORED_COUNT]: others > 0 ? String(others) : undefined });
}

export function jobPod(job: ApiObject, index: number | undefined, previous: ApiObject | undefined): Plain {
  const pod = copyJson(podOf(job, look(job, 'spec', 'template')));
  const meta = look(pod, 'metadata');
  const known = Array.isArray(meta.finalizers) ? meta.finalizers : [];
  meta.finalizers = known.includes(TRACKING) ? known : [...known, TRACKING];
  if (index === undefined) return pod;
  meta.generateName = generateName(job.metadata.name ?? '', index);
  meta.labels = { ...look(meta, 'labels'), [INDEX]: String(index) };
  const counts = perIndexLimit(job) === undefined ? {} : failuresOf(job, previous);
  meta.annotations = { ...look(meta, 'annotations'), [INDEX]: String(index), ...counts };
  const spec = look(pod, 'spec');
  spec.hostname = `${job.metadata.name}-${index}`;
  for (const list of ['initContainers', 'containers']) {
    for (const container of items(spec, list)) {
      const env = items(container, 'env');
      if (env.some(({ name }) => name === INDEX_VARIABLE)) continue;
      const valueFrom = { fieldRef: { fieldPath: `metadata.labels['${INDEX}']` } };
      container.env = [...env, { name: INDEX_VARIABLE, valueFrom }];
    }
  }
  return pod;
}
