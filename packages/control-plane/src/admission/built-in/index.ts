import type { AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { defaultStorageClassAdmission, nodeTaintAdmission, storageProtectionAdmission } from './cluster.ts';
import { priorityAdmission, serviceAccountAdmission, tolerationAdmission } from './pods.ts';
import { runtimeClassAdmission } from './runtime-class.ts';
import { serviceAddresses } from './service.ts';
import { topologyLabels } from './topology-labels.ts';

export const builtinAdmission = (registry: Registry): readonly AdmissionPlugin[] => [
  serviceAccountAdmission(registry),
  nodeTaintAdmission,
  priorityAdmission(registry),
  tolerationAdmission,
  defaultStorageClassAdmission(registry),
  storageProtectionAdmission,
  runtimeClassAdmission(registry),
  topologyLabels(registry),
  serviceAddresses(registry),
];
