import type { Machine } from '@mcm/api';
import { bytesOf } from '@mcm/core/driver';
import { defined } from '@mcm/kube';
import type { LocalProviderSpec } from '../spec/schemas.ts';

export const FIELD_MANAGER = 'machine-controller-manager-provider-local';
export const PREFIX = 'machine-';
export const SELECTOR = 'machine-provider=local';

export const podName = (machineName: string): string => `${PREFIX}${machineName}`;
export const secretName = (machineName: string): string => `${podName(machineName)}-userdata`;

const labels = (machineName: string): Record<string, string> => ({
  'machine-provider': 'local',
  app: 'machine',
  machine: machineName,
});

/** The readiness probe succeeds when the kubelet has registered the Node. */
const NODE_IS_THERE = 'kubectl --kubeconfig /var/lib/kubelet/kubeconfig-real get node "$NODE_NAME"';
const USER_DATA_MODE = 0o777;

const VOLUMES = [
  { name: 'containerd', emptyDir: {} },
  { name: 'modules', hostPath: { path: '/lib/modules' } },
  { name: 'run', emptyDir: { medium: 'Memory' } },
  { name: 'docker-socket', hostPath: { path: '/var/run/docker.sock', type: 'Socket' } },
];
const MOUNTS = [
  { name: 'userdata', mountPath: '/etc/machine' },
  { name: 'containerd', mountPath: '/var/lib/containerd' },
  { name: 'modules', mountPath: '/lib/modules', readOnly: true },
  { name: 'run', mountPath: '/run' },
  { name: 'docker-socket', mountPath: '/var/run/docker.sock' },
];

function annotations({ ipPoolNameV4, ipPoolNameV6 }: LocalProviderSpec): Record<string, string> {
  return defined({
    'cni.projectcalico.org/ipv4pools': ipPoolNameV4 ? JSON.stringify([ipPoolNameV4]) : undefined,
    'cni.projectcalico.org/ipv6pools': ipPoolNameV6 ? JSON.stringify([ipPoolNameV6]) : undefined,
  });
}

/**
 * Returns the Pod of a machine, as in Gardener's provider-local. The Pod uses the node image of kind, which contains
 * systemd.
 */
export const podOf = (
  { metadata: { name } }: Machine,
  spec: LocalProviderSpec,
  namespace: string,
  marks: Readonly<Record<string, string>> = {},
) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: podName(name), namespace, labels: { ...labels(name), ...marks }, annotations: annotations(spec) },
  spec: {
    dnsPolicy: 'Default',
    containers: [
      {
        name: 'node',
        image: spec.image,
        imagePullPolicy: 'IfNotPresent',
        securityContext: { privileged: true },
        env: [{ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        ports: [{ containerPort: 30_123, name: 'vpn-shoot', protocol: 'TCP' }],
        readinessProbe: { exec: { command: ['sh', '-c', NODE_IS_THERE] } },
        volumeMounts: MOUNTS,
      },
    ],
    volumes: [{ name: 'userdata', secret: { secretName: secretName(name), defaultMode: USER_DATA_MODE } }, ...VOLUMES],
  },
});

/** Returns an owner reference to the Pod. The garbage collector deletes the objects of a Pod together with the Pod. */
const ownedBy = (pod: { readonly name: string; readonly uid: string }) => [
  { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid, controller: true, blockOwnerDeletion: true },
];

export const userDataSecretOf = (
  { metadata: { name } }: Machine,
  userData: Uint8Array,
  pod: { readonly name: string; readonly uid: string },
  namespace: string,
) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: secretName(name), namespace, labels: labels(name), ownerReferences: ownedBy(pod) },
  type: 'Opaque',
  data: { userdata: bytesOf(userData).toString('base64') },
});

/** Returns the Service of a Pod. Because of the Service, other Pods can resolve the host name of the node. */
export const serviceOf = (
  { metadata: { name } }: Machine,
  pod: { readonly name: string; readonly uid: string },
  namespace: string,
) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: podName(name), namespace, labels: labels(name), ownerReferences: ownedBy(pod) },
  spec: {
    type: 'ClusterIP',
    clusterIP: 'None',
    selector: labels(name),
    publishNotReadyAddresses: true,
    ports: [{ name: 'ssh', port: 22, protocol: 'TCP', appProtocol: 'ssh' }],
  },
});
