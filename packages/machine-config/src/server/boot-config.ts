import { certificateFiles, certificatesNote, registryCertificates } from '../certificates/bundle.ts';
import { DaemonPaths } from '../config/daemon-paths.ts';
import { ignitionOf } from '../config/parsed.ts';
import { NodeAnnotations } from '../constants/annotations.ts';
import { PoolConditions } from '../constants/conditions.ts';
import { DaemonStates } from '../constants/states.ts';
import { emptyIgnition, type IgnitionConfig, mergeIgnition, textFile } from '../ignition/index.ts';
import type { ControllerConfig } from '../kinds/controller-config.ts';
import type { MachineConfig } from '../kinds/machine-config.ts';
import type { MachineConfigPool } from '../kinds/machine-config-pool.ts';

/** The file with the node annotations of the first boot. */
export const NODE_ANNOTATIONS_PATH = '/etc/machine-config-daemon/node-annotations.json';
/** The kubeconfig with which the kubelet requests its certificate. */
export const BOOTSTRAP_KUBECONFIG_PATH = '/etc/kubernetes/kubeconfig';
/** The file with the complete MachineConfig of the first boot. */
export const CONTENT_PATH = '/etc/mcs-machine-config-content.json';
/** The file with the parts of a MachineConfig that are not Ignition, such as the OS image and kernel arguments. */
export const ENCAPSULATED_PATH = '/etc/ignition-machine-config-encapsulated.json';

/**
 * Returns the name of the rendered MachineConfig with which a new machine of a pool boots:
 * - the target, if at least one node has applied the target;
 * - the last config that all nodes had, if no node has applied the target.
 */
export function bootConfigName({ spec, status }: MachineConfigPool): string | undefined {
  const [target, completed] = [spec?.configuration?.name, status?.configuration?.name];
  if (comesByMachines({ spec, status } as MachineConfigPool)) return target || completed;
  return ((status?.updatedMachineCount ?? 0) > 0 ? target || completed : completed || target) || undefined;
}

const comesByMachines = ({ spec, status }: MachineConfigPool): boolean =>
  spec?.updateStrategy === 'Replace' ||
  (spec?.updateStrategy === 'InPlaceElseReplace' &&
    (status?.conditions ?? []).some(
      ({ type, status: value }) => type === PoolConditions.RequiresReplacement && value === 'True',
    ));

/** The input for the config of a first boot. */
export interface BootInput {
  readonly machineConfig: MachineConfig;
  readonly controllerConfig: ControllerConfig | undefined;
  readonly certificates?: MachineConfig | undefined;
  /** The bootstrap token of the request. Without the token, the config contains no kubeconfig. */
  readonly bootstrapToken?: string;
}

/**
 * Returns the Ignition config of a first boot: the rendered config, and the files that the daemon and the kubelet need
 * to start.
 * @throws ParseError, IgnitionError for an invalid MachineConfig
 */
export function bootIgnition({
  machineConfig,
  controllerConfig,
  certificates,
  bootstrapToken,
}: BootInput): IgnitionConfig {
  const { name } = machineConfig.metadata;
  const annotations = {
    [NodeAnnotations.CurrentConfig]: name,
    [NodeAnnotations.DesiredConfig]: name,
    [NodeAnnotations.FirstPivotConfig]: name,
    [NodeAnnotations.State]: DaemonStates.Done,
  };
  const kubeconfig = bootstrapToken === undefined ? undefined : kubeconfigOf(controllerConfig, bootstrapToken);
  const { config, ...rest } = machineConfig.spec ?? {};
  const { apiVersion, kind } = machineConfig;
  const files = [
    textFile(NODE_ANNOTATIONS_PATH, JSON.stringify(annotations)),
    ...(kubeconfig === undefined ? [] : [secretFile(BOOTSTRAP_KUBECONFIG_PATH, kubeconfig)]),
    textFile(CONTENT_PATH, JSON.stringify({ apiVersion, kind, metadata: { name }, spec: { ...rest, config } })),
    ...(certificates ? [secretFile(DaemonPaths.Certificates, JSON.stringify(certificatesNote(certificates)))] : []),
    ...(certificates ? [] : registryCertificates(controllerConfig)),
    textFile(ENCAPSULATED_PATH, JSON.stringify({ apiVersion, kind, metadata: { name }, spec: rest })),
  ].map(({ contents, ...file }) => ({ ...file, contents: { source: contents?.source ?? '' } }));
  const rotated = (certificates ? certificateFiles(certificates) : []).map((file) => ({
    ...file,
    contents: { ...file.contents, compression: file.contents?.compression ?? '' },
  }));
  const base = ignitionOf(machineConfig) ?? emptyIgnition();
  return mergeIgnition(base, { ...emptyIgnition(), storage: { files: [...rotated, ...files] } });
}

const secretFile = (path: string, text: string) => ({ ...textFile(path, text), mode: 0o600 });

/** Returns a kubeconfig as JSON. JSON is valid YAML, so the kubeconfig needs no quoting. */
function kubeconfigOf(config: ControllerConfig | undefined, token: string): string | undefined {
  const { apiServerURL: server, kubeAPIServerServingCAData, rootCAData } = config?.spec ?? {};
  if (!server) return undefined;
  const authority = kubeAPIServerServingCAData || rootCAData;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server, 'certificate-authority-data': authority || undefined } }],
    users: [{ name: 'kubelet', user: { token } }],
    contexts: [{ name: 'kubelet', context: { cluster: 'local', user: 'kubelet' } }],
    'current-context': 'kubelet',
  });
}
