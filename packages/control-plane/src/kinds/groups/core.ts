import { labelProblems } from '../../registry/names.ts';
import {
  claimColumns,
  componentColumns,
  configMapColumns,
  endpointColumns,
  eventColumns,
  namespaceColumns,
  nodeColumns,
  podTemplateColumns,
  quotaColumns,
  replicationControllerColumns,
  secretColumns,
  serviceAccountColumns,
  serviceColumns,
  volumeColumns,
} from '../columns/core.ts';
import { podColumns, podRowConditions } from '../columns/pod.ts';
import { configMapStrategy, secretStrategy } from '../core/config.ts';
import { endpointsStrategy } from '../core/endpoints.ts';
import { coreEventStrategy } from '../core/event.ts';
import { limitRangeStrategy } from '../core/limit-range.ts';
import { namespaceStrategy } from '../core/namespace.ts';
import { nodeStrategy } from '../core/node.ts';
import { resourceQuotaStrategy } from '../core/quota.ts';
import { serviceStrategy } from '../core/service.ts';
import { claimStrategy, volumeStrategy } from '../core/volumes.ts';
import { defineKind, defineReview, fieldAt, fieldOr, fieldsAt } from '../define.ts';
import type { KindDefinition } from '../kind.ts';
import { podStrategy } from '../pod/index.ts';
import { podTemplateStrategy, replicationControllerStrategy } from '../workloads/replication.ts';

const namespaced = true;
const clusterScoped = { namespaced: false } as const;
const status = { status: true } as const;

const replicas = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } as const;

const involvedObject = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map(
  (field) => `involvedObject.${field}`,
);

/** The kinds of the core group, `v1`. */
export const coreKinds: readonly KindDefinition[] = [
  defineReview({ group: '', kind: 'Binding', plural: 'bindings', namespaced }),
  defineKind({
    group: '',
    kind: 'ComponentStatus',
    columns: componentColumns,
    listKind: 'ComponentStatusList',
    plural: 'componentstatuses',
    shortNames: ['cs'],
    verbs: ['get', 'list'],
    ...clusterScoped,
  }),
  defineKind({
    group: '',
    kind: 'ConfigMap',
    columns: configMapColumns,
    ...configMapStrategy,
    plural: 'configmaps',
    shortNames: ['cm'],
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'Endpoints',
    columns: endpointColumns,
    ...endpointsStrategy,
    plural: 'endpoints',
    createOnUpdate: true,
    deprecationWarning: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
    singular: 'endpoints',
    shortNames: ['ep'],
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'Event',
    columns: eventColumns,
    ...coreEventStrategy,
    model: 'CoreV1Event',
    plural: 'events',
    createOnUpdate: true,
    shortNames: ['ev'],
    namespaced,
    selectableFields: {
      ...fieldsAt(...involvedObject, 'reason', 'reportingComponent', 'type'),
      source: (event) => fieldAt('source.component')(event) || fieldAt('reportingComponent')(event),
    },
  }),
  defineKind({
    group: '',
    kind: 'LimitRange',
    ...limitRangeStrategy,
    plural: 'limitranges',
    createOnUpdate: true,
    shortNames: ['limits'],
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'Namespace',
    columns: namespaceColumns,
    ...namespaceStrategy,
    plural: 'namespaces',
    shortNames: ['ns'],
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    subresources: status,
    otherSubresources: ['finalize'],
    selectableFields: fieldsAt('status.phase'),
    ...clusterScoped,
  }),
  defineKind({
    group: '',
    kind: 'Node',
    columns: nodeColumns,
    ...nodeStrategy,
    plural: 'nodes',
    shortNames: ['no'],
    subresources: status,
    otherSubresources: ['proxy'],
    selectableFields: { 'spec.unschedulable': fieldOr('spec.unschedulable', 'false') },
    ...clusterScoped,
  }),
  defineKind({
    group: '',
    kind: 'PersistentVolume',
    columns: volumeColumns,
    ...volumeStrategy,
    plural: 'persistentvolumes',
    shortNames: ['pv'],
    subresources: status,
    ...clusterScoped,
  }),
  defineKind({
    group: '',
    kind: 'PersistentVolumeClaim',
    columns: claimColumns,
    ...claimStrategy,
    plural: 'persistentvolumeclaims',
    shortNames: ['pvc'],
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'Pod',
    columns: podColumns,
    rowConditions: podRowConditions,
    ...podStrategy,
    plural: 'pods',
    shortNames: ['po'],
    categories: ['all'],
    hasGeneration: true,
    subresources: status,
    otherSubresources: [
      'attach',
      'binding',
      'ephemeralcontainers',
      'eviction',
      'exec',
      'log',
      'portforward',
      'proxy',
      'resize',
    ],
    selectableFields: {
      'spec.hostNetwork': fieldOr('spec.hostNetwork', 'false'),
      ...fieldsAt(
        'spec.nodeName',
        'spec.restartPolicy',
        'spec.schedulerName',
        'spec.serviceAccountName',
        'status.phase',
        'status.podIP',
        'status.podIPs',
        'status.nominatedNodeName',
      ),
    },
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'PodTemplate',
    columns: podTemplateColumns,
    ...podTemplateStrategy,
    plural: 'podtemplates',
    hasGeneration: true,
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'ReplicationController',
    defaultPropagation: 'Orphan',
    columns: replicationControllerColumns,
    ...replicationControllerStrategy,
    plural: 'replicationcontrollers',
    shortNames: ['rc'],
    categories: ['all'],
    hasGeneration: true,
    subresources: { ...status, scale: { ...replicas, labelSelectorPath: '.spec.selector' } },
    selectableFields: { 'status.replicas': fieldOr('status.replicas', '0') },
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'ResourceQuota',
    columns: quotaColumns,
    ...resourceQuotaStrategy,
    plural: 'resourcequotas',
    shortNames: ['quota'],
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'Secret',
    columns: secretColumns,
    ...secretStrategy,
    plural: 'secrets',
    selectableFields: fieldsAt('type'),
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'Service',
    columns: serviceColumns,
    ...serviceStrategy,
    plural: 'services',
    createOnUpdate: true,
    validateName: labelProblems,
    shortNames: ['svc'],
    categories: ['all'],
    subresources: status,
    otherSubresources: ['proxy'],
    selectableFields: fieldsAt('spec.clusterIP', 'spec.type'),
    namespaced,
  }),
  defineKind({
    group: '',
    kind: 'ServiceAccount',
    columns: serviceAccountColumns,
    plural: 'serviceaccounts',
    shortNames: ['sa'],
    otherSubresources: ['token'],
    namespaced,
  }),
];
