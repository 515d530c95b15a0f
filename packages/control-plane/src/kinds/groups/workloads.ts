import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import { defineKind, fieldOr } from '../base/define.ts';
import { autoscalerColumns } from '../columns/autoscaler.ts';
import { viewedAs } from '../columns/column.ts';
import {
  budgetColumns,
  cronJobColumns,
  daemonSetColumns,
  deploymentColumns,
  jobColumns,
  replicaSetColumns,
  revisionColumns,
  statefulSetColumns,
} from '../columns/workloads.ts';
import { withoutDisabled } from '../pod/disabled.ts';
import { cronJobWarnings, jobWarnings, statefulSetWarnings, workloadWarnings } from '../warnings/index.ts';
import {
  controllerRevisionStrategy,
  daemonSetStrategy,
  deploymentStrategy,
  replicaSetStrategy,
  TEMPLATE_GENERATION,
} from '../workloads/apps.ts';
import { autoscalerStorage, autoscalerStrategy, autoscalerV1Strategy } from '../workloads/autoscaler.ts';
import { AUTOSCALER_FORMS } from '../workloads/autoscaler-annotations.ts';
import { cronJobStrategy, jobStrategy } from '../workloads/batch.ts';
import { budgetStrategy } from '../workloads/budget.ts';
import { statefulSetStrategy } from '../workloads/stateful-set.ts';

const namespaced = true;
const categories = ['all'];
const status = { status: true } as const;

const scale = {
  specReplicasPath: '.spec.replicas',
  statusReplicasPath: '.status.replicas',
  labelSelectorPath: '.spec.selector',
} as const;

export const workloadKinds: readonly KindDefinition[] = [
  defineKind({
    group: 'apps',
    kind: 'ControllerRevision',
    columns: revisionColumns,
    ...controllerRevisionStrategy,
    plural: 'controllerrevisions',
    namespaced,
  }),
  defineKind({
    group: 'apps',
    kind: 'DaemonSet',
    innerAnnotations: [TEMPLATE_GENERATION],
    warnings: workloadWarnings,
    columns: daemonSetColumns,
    ...withoutDisabled(daemonSetStrategy, 'spec', 'template', 'spec'),
    plural: 'daemonsets',
    shortNames: ['ds'],
    categories,
    hasGeneration: true,
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: 'apps',
    kind: 'Deployment',
    warnings: workloadWarnings,
    columns: deploymentColumns,
    ...withoutDisabled(deploymentStrategy, 'spec', 'template', 'spec'),
    plural: 'deployments',
    generationCounts: 'annotations',
    shortNames: ['deploy'],
    categories,
    hasGeneration: true,
    subresources: { ...status, scale },
    namespaced,
  }),
  defineKind({
    group: 'apps',
    kind: 'ReplicaSet',
    warnings: workloadWarnings,
    columns: replicaSetColumns,
    ...withoutDisabled(replicaSetStrategy, 'spec', 'template', 'spec'),
    plural: 'replicasets',
    shortNames: ['rs'],
    categories,
    hasGeneration: true,
    subresources: { ...status, scale },
    namespaced,
  }),
  defineKind({
    group: 'apps',
    kind: 'StatefulSet',
    warnings: statefulSetWarnings,
    columns: statefulSetColumns,
    ...withoutDisabled(statefulSetStrategy, 'spec', 'template', 'spec'),
    plural: 'statefulsets',
    shortNames: ['sts'],
    categories,
    hasGeneration: true,
    subresources: { ...status, scale },
    namespaced,
  }),
  defineKind({
    group: 'batch',
    kind: 'CronJob',
    warnings: cronJobWarnings,
    columns: cronJobColumns,
    ...withoutDisabled(cronJobStrategy, 'spec', 'jobTemplate', 'spec', 'template', 'spec'),
    plural: 'cronjobs',
    shortNames: ['cj'],
    categories,
    hasGeneration: true,
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: 'batch',
    kind: 'Job',
    warnings: jobWarnings,
    columns: jobColumns,
    ...withoutDisabled(jobStrategy, 'spec', 'template', 'spec'),
    plural: 'jobs',
    categories,
    hasGeneration: true,
    defaultPropagation: 'Orphan',
    propagationWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
    subresources: status,
    selectableFields: { 'status.successful': fieldOr('status.succeeded', '0') },
    namespaced,
  }),
  defineKind({
    group: 'autoscaling',
    kind: 'HorizontalPodAutoscaler',
    columns: viewedAs(autoscalerStorage.encode, autoscalerColumns),
    innerAnnotations: AUTOSCALER_FORMS,
    ...autoscalerV1Strategy,
    storedAs: autoscalerStorage,
    plural: 'horizontalpodautoscalers',
    shortNames: ['hpa'],
    categories,
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: 'autoscaling',
    version: 'v2',
    kind: 'HorizontalPodAutoscaler',
    model: 'V2HorizontalPodAutoscaler',
    columns: autoscalerColumns,
    ...autoscalerStrategy,
    plural: 'horizontalpodautoscalers',
    shortNames: ['hpa'],
    categories,
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: 'policy',
    kind: 'PodDisruptionBudget',
    columns: budgetColumns,
    ...budgetStrategy,
    plural: 'poddisruptionbudgets',
    validateName: pathSegmentProblems,
    assessesMetaLast: true,
    requiresResourceVersion: true,
    shortNames: ['pdb'],
    hasGeneration: true,
    subresources: status,
    namespaced,
  }),
];
