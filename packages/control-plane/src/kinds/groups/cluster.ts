import { pathSegmentProblems } from '../../apimachinery/errors/names.ts';
import type { KindDefinition, PrinterColumn } from '../../apimachinery/objects/kind.ts';
import { defined } from '../../apimachinery/objects/plain.ts';
import { certificateRequestStrategy } from '../../certificates/strategy.ts';
import { bindingStrategy, roleStrategy } from '../access/rbac.ts';
import { defineKind, defineReview, fieldsAt } from '../base/define.ts';
import { attributesClassStrategy, ipAddressStrategy, serviceCidrStrategy } from '../cluster/addresses.ts';
import { apiServiceStrategy, leaseStrategy } from '../cluster/control.ts';
import { flowSchemaStrategy, priorityLevelStrategy } from '../cluster/flow.ts';
import { ingressClassStrategy, ingressStrategy } from '../cluster/ingress.ts';
import { mutatingBindingStrategy, mutatingPolicyStrategy } from '../cluster/mutating-policies.ts';
import { networkPolicyStrategy } from '../cluster/network.ts';
import { policyBindingStrategy, validatingPolicyStrategy } from '../cluster/policies.ts';
import { runtimeClassStrategy } from '../cluster/runtime-class.ts';
import {
  capacityStrategy,
  csiDriverStrategy,
  csiNodeStrategy,
  priorityClassStrategy,
  storageClassStrategy,
  volumeAttachmentStrategy,
} from '../cluster/storage.ts';
import { mutatingWebhookStrategy, validatingWebhookStrategy } from '../cluster/webhooks.ts';
import {
  apiServiceColumns,
  attachmentColumns,
  attributesClassColumns,
  bindingColumns,
  certificateRequestColumns,
  clusterBindingColumns,
  csiDriverColumns,
  csiNodeColumns,
  flowSchemaColumns,
  leaseColumns,
  mutatingPolicyColumns,
  policyBindingColumns,
  priorityClassColumns,
  priorityLevelColumns,
  runtimeClassColumns,
  storageClassColumns,
  validatingPolicyColumns,
  webhookColumns,
} from '../columns/cluster.ts';
import { viewedAs } from '../columns/column.ts';
import { eventColumns } from '../columns/core.ts';
import {
  endpointSliceColumns,
  ingressClassColumns,
  ingressColumns,
  ipAddressColumns,
  networkPolicyColumns,
  serviceCidrColumns,
} from '../columns/network.ts';
import { endpointSliceStrategy } from '../core/endpoints.ts';
import { eventFields, eventStorage, eventStrategy } from '../core/event.ts';
import {
  capacityWarnings,
  csiDriverWarnings,
  endpointSliceWarnings,
  ingressWarnings,
  runtimeClassWarnings,
  topologyWarnings,
} from '../warnings/index.ts';

const namespaced = true;
const clusterScoped = { namespaced: false } as const;
const status = { status: true } as const;
const categories = ['api-extensions'];

const admission = (kind: string, plural: string, more: Partial<KindDefinition> = {}): KindDefinition =>
  defineKind({
    group: 'admissionregistration.k8s.io',
    kind,
    plural,
    categories,
    hasGeneration: true,
    requiresResourceVersion: true,
    ...clusterScoped,
    ...more,
  });

const rbac = (
  kind: string,
  plural: string,
  isNamespaced: boolean,
  columns?: readonly PrinterColumn[],
): KindDefinition =>
  defineKind(
    defined({
      group: 'rbac.authorization.k8s.io',
      kind,
      plural,
      namespaced: isNamespaced,
      validateName: pathSegmentProblems,
      createOnUpdate: true,
      ...(kind.endsWith('Binding') ? bindingStrategy(isNamespaced) : roleStrategy(isNamespaced)),
      columns,
    }),
  );

const accessReview = (kind: string, plural: string, isNamespaced = false): KindDefinition =>
  defineReview({ group: 'authorization.k8s.io', kind, plural, namespaced: isNamespaced });

export const clusterKinds: readonly KindDefinition[] = [
  admission('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', {
    ...mutatingWebhookStrategy,
    generationTellsEmpty: true,
    columns: webhookColumns,
  }),
  admission('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', {
    ...validatingWebhookStrategy,
    generationTellsEmpty: true,
    columns: webhookColumns,
  }),
  admission('ValidatingAdmissionPolicy', 'validatingadmissionpolicies', {
    ...validatingPolicyStrategy,
    columns: validatingPolicyColumns,
    subresources: status,
  }),
  admission('ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings', {
    ...policyBindingStrategy,
    columns: policyBindingColumns,
  }),
  admission('MutatingAdmissionPolicy', 'mutatingadmissionpolicies', {
    ...mutatingPolicyStrategy,
    columns: mutatingPolicyColumns,
  }),
  admission('MutatingAdmissionPolicyBinding', 'mutatingadmissionpolicybindings', {
    ...mutatingBindingStrategy,
    columns: policyBindingColumns,
  }),
  defineKind({
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    plural: 'customresourcedefinitions',
    shortNames: ['crd', 'crds'],
    categories,
    hasGeneration: true,
    subresources: status,
    ...clusterScoped,
  }),
  defineKind({
    group: 'apiregistration.k8s.io',
    kind: 'APIService',
    columns: apiServiceColumns,
    ...apiServiceStrategy,
    requiresResourceVersion: true,
    plural: 'apiservices',
    validateName: pathSegmentProblems,
    categories,
    subresources: status,
    ...clusterScoped,
  }),
  defineReview({
    group: 'authentication.k8s.io',
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    ...clusterScoped,
  }),
  defineReview({ group: 'authentication.k8s.io', kind: 'TokenReview', plural: 'tokenreviews', ...clusterScoped }),
  accessReview('LocalSubjectAccessReview', 'localsubjectaccessreviews', namespaced),
  accessReview('SelfSubjectAccessReview', 'selfsubjectaccessreviews'),
  accessReview('SelfSubjectRulesReview', 'selfsubjectrulesreviews'),
  accessReview('SubjectAccessReview', 'subjectaccessreviews'),
  defineKind({
    group: 'certificates.k8s.io',
    kind: 'CertificateSigningRequest',
    columns: certificateRequestColumns,
    ...certificateRequestStrategy,
    plural: 'certificatesigningrequests',
    validateName: pathSegmentProblems,
    shortNames: ['csr'],
    subresources: status,
    otherSubresources: ['approval'],
    selectableFields: fieldsAt('spec.signerName'),
    ...clusterScoped,
  }),
  defineKind({
    group: 'coordination.k8s.io',
    kind: 'Lease',
    columns: leaseColumns,
    ...leaseStrategy,
    plural: 'leases',
    createOnUpdate: true,
    requiresResourceVersion: true,
    namespaced,
  }),
  defineKind({
    group: 'discovery.k8s.io',
    kind: 'EndpointSlice',
    warnings: endpointSliceWarnings,
    generationCounts: 'labels',
    generationCountsDropped: true,
    columns: endpointSliceColumns,
    ...endpointSliceStrategy,
    hasGeneration: true,
    plural: 'endpointslices',
    namespaced,
  }),
  defineKind({
    group: 'events.k8s.io',
    kind: 'Event',
    model: 'EventsV1Event',
    columns: viewedAs(eventStorage.encode, eventColumns),
    ...eventStrategy,
    storedAs: eventStorage,
    plural: 'events',
    createOnUpdate: true,
    shortNames: ['ev'],
    ...eventFields,
    namespaced,
  }),
  defineKind({
    group: 'flowcontrol.apiserver.k8s.io',
    kind: 'FlowSchema',
    columns: flowSchemaColumns,
    ...flowSchemaStrategy,
    plural: 'flowschemas',
    hasGeneration: true,
    subresources: status,
    ...clusterScoped,
  }),
  defineKind({
    group: 'flowcontrol.apiserver.k8s.io',
    kind: 'PriorityLevelConfiguration',
    columns: priorityLevelColumns,
    ...priorityLevelStrategy,
    plural: 'prioritylevelconfigurations',
    hasGeneration: true,
    subresources: status,
    ...clusterScoped,
  }),
  defineKind({
    group: 'networking.k8s.io',
    kind: 'Ingress',
    warnings: ingressWarnings,
    ...ingressStrategy,
    columns: ingressColumns,
    plural: 'ingresses',
    shortNames: ['ing'],
    hasGeneration: true,
    subresources: status,
    namespaced,
  }),
  defineKind({
    group: 'networking.k8s.io',
    kind: 'IngressClass',
    ...ingressClassStrategy,
    columns: ingressClassColumns,
    plural: 'ingressclasses',
    hasGeneration: true,
    ...clusterScoped,
  }),
  defineKind({
    group: 'networking.k8s.io',
    kind: 'IPAddress',
    columns: ipAddressColumns,
    ...ipAddressStrategy,
    plural: 'ipaddresses',
    shortNames: ['ip'],
    ...clusterScoped,
  }),
  defineKind({
    group: 'networking.k8s.io',
    kind: 'ServiceCIDR',
    columns: serviceCidrColumns,
    ...serviceCidrStrategy,
    plural: 'servicecidrs',
    subresources: status,
    ...clusterScoped,
  }),
  defineKind({
    group: 'networking.k8s.io',
    kind: 'NetworkPolicy',
    columns: networkPolicyColumns,
    plural: 'networkpolicies',
    ...networkPolicyStrategy,
    generationTellsEmpty: true,
    shortNames: ['netpol'],
    hasGeneration: true,
    namespaced,
  }),
  defineKind({
    group: 'node.k8s.io',
    kind: 'RuntimeClass',
    warnings: runtimeClassWarnings,
    columns: runtimeClassColumns,
    ...runtimeClassStrategy,
    plural: 'runtimeclasses',
    createOnUpdate: true,
    requiresResourceVersion: true,
    ...clusterScoped,
  }),
  rbac('ClusterRoleBinding', 'clusterrolebindings', false, clusterBindingColumns),
  rbac('ClusterRole', 'clusterroles', false),
  rbac('RoleBinding', 'rolebindings', true, bindingColumns),
  rbac('Role', 'roles', true),
  defineKind({
    group: 'scheduling.k8s.io',
    kind: 'PriorityClass',
    columns: priorityClassColumns,
    ...priorityClassStrategy,
    plural: 'priorityclasses',
    shortNames: ['pc'],
    ...clusterScoped,
  }),
  defineKind({
    group: 'storage.k8s.io',
    kind: 'CSIDriver',
    warnings: csiDriverWarnings,
    columns: csiDriverColumns,
    ...csiDriverStrategy,
    plural: 'csidrivers',
    requiresResourceVersion: true,
    ...clusterScoped,
  }),
  defineKind({
    group: 'storage.k8s.io',
    kind: 'CSINode',
    columns: csiNodeColumns,
    ...csiNodeStrategy,
    plural: 'csinodes',
    requiresResourceVersion: true,
    ...clusterScoped,
  }),
  defineKind({
    group: 'storage.k8s.io',
    kind: 'CSIStorageCapacity',
    warnings: capacityWarnings,
    ...capacityStrategy,
    listKind: 'CSIStorageCapacityList',
    plural: 'csistoragecapacities',
    requiresResourceVersion: true,
    namespaced,
  }),
  defineKind({
    group: 'storage.k8s.io',
    kind: 'StorageClass',
    warnings: topologyWarnings,
    columns: storageClassColumns,
    ...storageClassStrategy,
    plural: 'storageclasses',
    shortNames: ['sc'],
    ...clusterScoped,
  }),
  defineKind({
    group: 'storage.k8s.io',
    kind: 'VolumeAttributesClass',
    columns: attributesClassColumns,
    ...attributesClassStrategy,
    plural: 'volumeattributesclasses',
    shortNames: ['vac'],
    ...clusterScoped,
  }),
  defineKind({
    group: 'storage.k8s.io',
    kind: 'VolumeAttachment',
    columns: attachmentColumns,
    ...volumeAttachmentStrategy,
    plural: 'volumeattachments',
    requiresResourceVersion: true,
    subresources: status,
    ...clusterScoped,
  }),
];
