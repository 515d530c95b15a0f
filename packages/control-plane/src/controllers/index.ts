import type { Signer } from '../certificates/signer.ts';
import { policyStatus } from './admission/policy-status.ts';
import { resourceQuotaController } from './admission/resource-quota.ts';
import { certificateApprover } from './certificates/approve.ts';
import { certificateCleaner } from './certificates/clean.ts';
import { certificateSigner } from './certificates/sign.ts';
import { flowSchemas } from './cluster/flow-schemas.ts';
import { roleAggregation } from './cluster/role-aggregation.ts';
import { bootstrapSigner, tokenCleaner } from './cluster/tokens.ts';
import { disruption } from './disruption/index.ts';
import { evictionRequests } from './eviction-request/index.ts';
import { garbageCollector } from './garbage-collector/index.ts';
import { type AccountSecretValues, accountTokens } from './namespace/account-tokens.ts';
import { rootCaPublisher, serviceAccounts } from './namespace/accounts.ts';
import { namespaceController } from './namespace/index.ts';
import { serviceAddressObjects } from './network/addresses.ts';
import { endpointSliceController } from './network/endpoint-slices.ts';
import { endpointsController } from './network/endpoints.ts';
import { sliceMirroring } from './network/mirror.ts';
import { serviceRanges } from './network/service-ranges.ts';
import { taintEviction } from './node/eviction.ts';
import type { EvictionRules } from './node/eviction-rules.ts';
import { nodeLifecycle } from './node/lifecycle.ts';
import { podGarbageCollector } from './node/pod-gc.ts';
import { type Controller, type RuntimeEnvironment, runControllers } from './runtime/controller.ts';
import { scheduler } from './scheduler/index.ts';
import { attachDetach } from './volumes/attach/index.ts';
import { volumeBinder } from './volumes/binder/index.ts';
import { ephemeralVolumes } from './volumes/ephemeral.ts';
import { classProtection, storageProtection } from './volumes/protection.ts';
import { cronJobController } from './workloads/cron-job/index.ts';
import { daemonSetController } from './workloads/daemon-set/index.ts';
import { deploymentController } from './workloads/deployment/index.ts';
import { jobController } from './workloads/job/index.ts';
import { ttlAfterFinished } from './workloads/job/ttl.ts';
import { replicaSetController, replicationController } from './workloads/replica-set.ts';
import { statefulSetController } from './workloads/stateful-set/index.ts';

export type { EvictionRules } from './node/eviction-rules.ts';

interface ControllerSettings extends AccountSecretValues {
  /** Signs certificates. Without a signer, the certificate controllers sign no certificates. */
  readonly signer?: Signer | undefined;
  readonly evictionRules?: Partial<EvictionRules> | undefined;
}

export interface ControllerEnvironment extends RuntimeEnvironment, ControllerSettings {}

const allControllers = (settings: ControllerSettings): readonly Controller[] => [
  disruption,
  scheduler,
  replicaSetController,
  replicationController,
  deploymentController,
  statefulSetController,
  daemonSetController,
  jobController,
  ttlAfterFinished,
  cronJobController,
  volumeBinder,
  attachDetach,
  storageProtection,
  classProtection,
  ephemeralVolumes,
  tokenCleaner,
  bootstrapSigner,
  roleAggregation,
  flowSchemas,
  nodeLifecycle(settings.evictionRules),
  taintEviction,
  evictionRequests,
  podGarbageCollector,
  serviceAccounts,
  accountTokens(settings),
  endpointsController,
  endpointSliceController,
  sliceMirroring,
  serviceAddressObjects,
  serviceRanges,
  rootCaPublisher(settings.caCertificate),
  policyStatus,
  resourceQuotaController,
  certificateApprover,
  certificateSigner(settings.signer),
  certificateCleaner,
  namespaceController,
  garbageCollector,
];

export const controllerNames: readonly string[] = allControllers({}).map(({ name }) => name);

const UPSTREAM_NAMES: Readonly<Record<string, string>> = {
  'endpoints-controller': 'endpoint',
  'pod-garbage-collector-controller': 'pod-garbage-collector',
  podgc: 'pod-garbage-collector',
  'endpointslice-mirroring-controller': 'endpointslicemirroring',
  garbagecollector: 'garbage-collector',
  'bootstrap-signer-controller': 'bootstrap-signer',
  bootstrapsigner: 'bootstrap-signer',
  tokencleaner: 'token-cleaner',
  nodelifecycle: 'node-lifecycle',
  'certificatesigningrequest-signing-controller': 'csrsigning',
  'certificatesigningrequest-approving-controller': 'csrapproving',
  'certificatesigningrequest-cleaner-controller': 'csrcleaning',
  csrcleaner: 'csrcleaning',
  'persistentvolume-attach-detach-controller': 'attachdetach',
  'persistentvolumeclaim-protection-controller': 'pvc-protection',
  'persistentvolume-protection-controller': 'pvc-protection',
  'pv-protection': 'pvc-protection',
  'root-ca-cert-publisher': 'root-ca-certificate-publisher',
  'kube-scheduler': 'scheduler',
};

function ownName(name: string): string {
  if (controllerNames.includes(name)) return name;
  const short = name.replace(/-controller$/, '');
  return UPSTREAM_NAMES[name] ?? (controllerNames.includes(short) ? short : name);
}

export interface Controllers {
  readonly names: readonly string[];
  /**
   * Runs the controllers until the signal is aborted. The promise resolves when the controllers have processed all
   * existing objects.
   */
  start(signal: AbortSignal): Promise<void>;
}

function namesOf(chosen: boolean | readonly string[]): readonly string[] {
  if (typeof chosen === 'boolean') return chosen ? controllerNames : [];
  const left = new Set(chosen.filter((name) => name.startsWith('-')).map((name) => ownName(name.slice(1))));
  const wanted = chosen
    .filter((name) => !name.startsWith('-'))
    .flatMap((name) => (name === '*' ? controllerNames : [ownName(name)]));
  // The result contains unknown names after a leading `-`, so that the caller refuses them too.
  const unknown = [...left].filter((name) => !controllerNames.includes(name));
  return [...new Set(wanted)].filter((name) => !left.has(name)).concat(unknown);
}

/**
 * Returns the selected built-in controllers. `chosen` contains the names of controllers. `*` selects all controllers,
 * and a leading `-` excludes a controller (`['*', '-job-controller']`).
 * @param alpha The alpha API versions that the server serves.
 * @throws Error for an unknown name of a controller.
 */
export function builtinControllers(
  environment: ControllerEnvironment,
  chosen: boolean | readonly string[] = true,
  alpha: readonly string[] = [],
): Controllers {
  const names = namesOf(chosen);
  const unknown = names.filter((name) => !controllerNames.includes(name));
  if (unknown.length > 0) {
    throw new Error(`no controller is named ${unknown.join(', ')}; there are ${controllerNames.join(', ')}`);
  }
  const running = allControllers(environment).filter(
    ({ name, needs }) => names.includes(name) && (needs === undefined || alpha.includes(needs)),
  );
  return {
    names,
    start: (signal) => (running.length === 0 ? Promise.resolve() : runControllers(running, environment, signal)),
  };
}
