import { isDeepStrictEqual } from 'node:util';
import { forbidden } from '../../apimachinery/errors/errors.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { look } from '../../apimachinery/objects/plain.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../resources/admission.ts';
import type { Registry } from '../../resources/registry.ts';
import { forbiddenLabels } from './labels.ts';
import { checkPod, type Refuse } from './pods.ts';
import { checkToken } from './tokens.ts';

const USER = 'system:node:';
const GROUP = 'system:nodes';
const LEASES = 'kube-node-lease';

function checkNode(node: string, { operation, name, object, old }: AdmissionAttributes, refuse: Refuse): void {
  if (name !== node) refuse(`node "${node}" is not allowed to modify node "${name}"`);
  if (object === undefined) return;
  const source = look(object, 'spec').configSource;
  if (operation === 'CREATE') {
    if (isRecord(source)) refuse(`node "${node}" is not allowed to create pods with a non-nil configSource`);
    const labels = forbiddenLabels(object.metadata.labels);
    if (labels.length > 0) {
      refuse(`node "${node}" is not allowed to set the following labels: ${labels.join(', ')}`);
    }
  }
  if (operation !== 'UPDATE' || old === undefined) return;
  if (isRecord(source) && !isDeepStrictEqual(source, look(old, 'spec').configSource)) {
    refuse(`node "${node}" is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!isDeepStrictEqual(look(object, 'spec').taints ?? [], look(old, 'spec').taints ?? [])) {
    refuse(`node "${node}" is not allowed to modify taints`);
  }
  if (!isDeepStrictEqual(object.metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    refuse(`node "${node}" is not allowed to modify ownerReferences`);
  }
  const labels = forbiddenLabels(object.metadata.labels, old.metadata.labels);
  if (labels.length > 0) refuse(`is not allowed to modify labels: ${labels.join(', ')}`);
}

/** Returns the fields of a PersistentVolumeClaim that must stay unchanged when a node updates the status. */
function keptOfClaim(claim: ApiObject | undefined): unknown {
  const { resourceVersion: _version, managedFields: _managed, ...metadata } = claim?.metadata ?? {};
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _resources,
    allocatedResourceStatuses: _statuses,
    ...status
  } = look(claim, 'status');
  return { metadata, status, spec: look(claim, 'spec') };
}

function checkClaim(node: string, { operation, subresource, object, old }: AdmissionAttributes, refuse: Refuse): void {
  if (subresource !== 'status') refuse('may only update PVC status');
  if (operation !== 'UPDATE') refuse(`unexpected operation "${operation}"`);
  if (!isDeepStrictEqual(keptOfClaim(object), keptOfClaim(old))) {
    refuse(`node "${node}" is not allowed to update fields other than status.quantity and status.conditions`);
  }
}

const nameOf = ({ name, object }: AdmissionAttributes): string => (name === '' ? (object?.metadata.name ?? '') : name);

function check(registry: Registry, node: string, attributes: AdmissionAttributes, refuse: Refuse): void {
  const { served, namespace } = attributes;
  switch (served.resource) {
    case '/pods':
      checkPod(registry, node, attributes, refuse);
      break;
    case '/nodes':
      checkNode(node, attributes, refuse);
      break;
    case '/serviceaccounts':
      checkToken(registry, node, attributes, refuse);
      break;
    case '/persistentvolumeclaims':
      checkClaim(node, attributes, refuse);
      break;
    case 'coordination.k8s.io/leases':
      if (namespace !== LEASES) refuse(`can only access leases in the "${LEASES}" system namespace`);
      if (nameOf(attributes) !== node) {
        refuse('can only access node lease with the same name as the requesting node');
      }
      break;
    case 'storage.k8s.io/csinodes':
      if (nameOf(attributes) !== node) refuse('can only access CSINode with the same name as the requesting node');
      break;
    default:
  }
}

/**
 * NodeRestriction lets a kubelet (`system:node:NAME` in the group `system:nodes`) write only its own node, pods, leases
 * and CSINode. A kubelet may not set labels that select nodes for workloads. The plugin does not check certificate
 * requests of nodes, because the signers check these requests.
 */
export const nodeRestriction = (registry: Registry): AdmissionPlugin => ({
  name: 'NodeRestriction',
  admit(attributes) {
    const { user, served, name } = attributes;
    if (!user.name.startsWith(USER) || !user.groups.includes(GROUP)) return undefined;
    const refuse: Refuse = (why) => {
      throw forbidden(served.kind, name, why);
    };
    const node = user.name.slice(USER.length);
    if (node === '') refuse(`could not determine node from user "${user.name}"`);
    check(registry, node, attributes, refuse);
    return undefined;
  },
});
