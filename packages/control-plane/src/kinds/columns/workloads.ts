import type { PrinterColumn } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { items, look } from '../../apimachinery/objects/plain.ts';
import { humanDuration } from '../../table/age.ts';
import {
  AGE,
  ageAt,
  column,
  countAt,
  NAME,
  NONE,
  shownAt,
  shownLabels,
  shownSelector,
  textAt,
  wide,
} from './column.ts';
import { CONTAINERS, IMAGES, templateColumn } from './template.ts';

const LABELS_INFO =
  'More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors';
const JOB_SELECTOR = `A label query over pods that should match the pod count. Normally, the system sets this field for you. ${LABELS_INFO}`;

const selectorColumn = (doc: string, ...path: readonly string[]): PrinterColumn =>
  wide('Selector', (object) => shownSelector(look(object, 'spec', ...path).selector), { doc });

/** The field has a default, so kube-apiserver's text `<unset>` never occurs. */
function suspension(job: ApiObject): string {
  const { suspend } = look(job, 'spec');
  if (suspend === undefined) return '<unset>';
  return suspend === true ? 'True' : 'False';
}

const ready = (object: ApiObject): string =>
  `${countAt(object, 'status.readyReplicas')}/${countAt(object, 'spec.replicas')}`;

export const deploymentColumns: readonly PrinterColumn[] = [
  NAME,
  column('Ready', ready, { doc: 'Number of the pod with ready state' }),
  column('Up-to-date', (object) => countAt(object, 'status.updatedReplicas'), {
    doc: ['V1DeploymentStatus', 'updatedReplicas'],
  }),
  column('Available', (object) => countAt(object, 'status.availableReplicas'), {
    doc: ['V1DeploymentStatus', 'availableReplicas'],
  }),
  AGE,
  CONTAINERS,
  IMAGES,
  wide(
    'Selector',
    (object) => {
      const { selector } = look(object, 'spec');
      return selector === undefined ? '' : shownSelector(selector);
    },
    {
      doc: "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.",
    },
  ),
];

export const replicaSetColumns: readonly PrinterColumn[] = [
  NAME,
  column('Desired', (set) => countAt(set, 'spec.replicas'), { type: 'integer', doc: ['V1ReplicaSetSpec', 'replicas'] }),
  column('Current', (set) => countAt(set, 'status.replicas'), {
    type: 'integer',
    doc: ['V1ReplicaSetStatus', 'replicas'],
  }),
  column('Ready', (set) => countAt(set, 'status.readyReplicas'), {
    type: 'integer',
    doc: ['V1ReplicaSetStatus', 'readyReplicas'],
  }),
  AGE,
  CONTAINERS,
  IMAGES,
  selectorColumn(
    `Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. ${LABELS_INFO}`,
  ),
];

export const statefulSetColumns: readonly PrinterColumn[] = [
  NAME,
  column('Ready', ready, { doc: 'Number of the pod with ready state' }),
  AGE,
  CONTAINERS,
  IMAGES,
];

const daemonCount = (name: string, field: string): PrinterColumn =>
  column(name, (set) => countAt(set, `status.${field}`), { type: 'integer', doc: ['V1DaemonSetStatus', field] });

export const daemonSetColumns: readonly PrinterColumn[] = [
  NAME,
  daemonCount('Desired', 'desiredNumberScheduled'),
  daemonCount('Current', 'currentNumberScheduled'),
  daemonCount('Ready', 'numberReady'),
  daemonCount('Up-to-date', 'updatedNumberScheduled'),
  daemonCount('Available', 'numberAvailable'),
  column('Node Selector', (set) => shownLabels(look(set, 'spec', 'template', 'spec', 'nodeSelector')), {
    doc: ['V1PodSpec', 'nodeSelector'],
  }),
  AGE,
  CONTAINERS,
  IMAGES,
  selectorColumn(
    `A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. ${LABELS_INFO}`,
  ),
];

function jobStatus(job: ApiObject): string {
  const conditions = items(look(job, 'status'), 'conditions');
  const holds = (type: string): boolean => conditions.some((one) => one.type === type && one.status === 'True');
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (holds('Suspended')) return 'Suspended';
  if (holds('FailureTarget')) return 'FailureTarget';
  return holds('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function jobCompletions(job: ApiObject): string {
  const succeeded = countAt(job, 'status.succeeded');
  const completions = look(job, 'spec').completions;
  if (completions !== undefined) return `${succeeded}/${completions}`;
  const parallelism = countAt(job, 'spec.parallelism');
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: ApiObject, now: Date): string {
  const start = textAt(job, 'status.startTime');
  if (start === '') return '';
  const end = textAt(job, 'status.completionTime');
  return humanDuration((end === '' ? now : new Date(end)).getTime() - new Date(start).getTime());
}

export const jobColumns: readonly PrinterColumn[] = [
  NAME,
  column('Status', jobStatus, { doc: 'Status of the job.' }),
  column('Completions', jobCompletions, { doc: ['V1JobStatus', 'succeeded'] }),
  column('Duration', jobDuration, { doc: 'Time required to complete the job.' }),
  AGE,
  CONTAINERS,
  IMAGES,
  selectorColumn(JOB_SELECTOR),
];

const JOB_TEMPLATE = ['spec', 'jobTemplate', 'spec', 'template'];

export const cronJobColumns: readonly PrinterColumn[] = [
  NAME,
  column('Schedule', (job) => textAt(job, 'spec.schedule'), { doc: ['V1CronJobSpec', 'schedule'] }),
  column('Timezone', (job) => textAt(job, 'spec.timeZone', NONE), { doc: ['V1CronJobSpec', 'timeZone'] }),
  column('Suspend', suspension, {
    type: 'boolean',
    doc: ['V1CronJobSpec', 'suspend'],
  }),
  column('Active', (job) => items(look(job, 'status'), 'active').length, {
    type: 'integer',
    doc: ['V1CronJobStatus', 'active'],
  }),
  column(
    'Last Schedule',
    (job, now) => {
      const last = textAt(job, 'status.lastScheduleTime');
      return last === '' ? NONE : ageAt(last, now);
    },
    { doc: ['V1CronJobStatus', 'lastScheduleTime'] },
  ),
  AGE,
  templateColumn('Containers', 'name', JOB_TEMPLATE, 1),
  templateColumn('Images', 'image', JOB_TEMPLATE, 1),
  selectorColumn(JOB_SELECTOR, 'jobTemplate', 'spec'),
];

export const budgetColumns: readonly PrinterColumn[] = [
  NAME,
  column('Min Available', (budget) => shownAt(budget, 'spec.minAvailable', 'N/A'), {
    doc: 'The minimum number of pods that must be available.',
  }),
  column('Max Unavailable', (budget) => shownAt(budget, 'spec.maxUnavailable', 'N/A'), {
    doc: 'The maximum number of pods that may be unavailable.',
  }),
  column('Allowed Disruptions', (budget) => countAt(budget, 'status.disruptionsAllowed'), {
    type: 'integer',
    doc: 'Calculated number of pods that may be disrupted at this time.',
  }),
  AGE,
];

export const revisionColumns: readonly PrinterColumn[] = [
  NAME,
  column(
    'Controller',
    (revision) => {
      const owner = revision.metadata.ownerReferences?.find(({ controller }) => controller === true);
      if (owner === undefined) return NONE;
      const group = owner.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0]}` : '';
      return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
    },
    { doc: 'Controller of the object' },
  ),
  column('Revision', (revision) => countAt(revision, 'revision'), { doc: ['V1ControllerRevision', 'revision'] }),
  AGE,
];
