import { Annotations } from '@mcm/api';

/** Annotations on the wire. Keys and values are the original's. */
export const ConfigAnnotations = {
  /** On generated and rendered MachineConfigs: hash of the controller's build. Absent or empty: a user's MachineConfig. */
  GeneratedByControllerVersion: 'machineconfiguration.openshift.io/generated-by-controller-version',
  /** On the ControllerConfig: version of its writer. It must equal the controller's version. */
  GeneratedByVersion: 'machineconfiguration.openshift.io/generated-by-version',
  /** On the ControllerConfig and copied to rendered MachineConfigs. Informative. */
  ReleaseImageVersion: 'machineconfiguration.openshift.io/release-image-version',
  /** On rendered MachineConfigs: `true` if a user's MachineConfig set another OS image. */
  OSImageURLOverridden: 'machineconfiguration.openshift.io/os-image-url-overridden',
  /** On KubeletConfigs and ContainerRuntimeConfigs: the suffix of the generated MachineConfig's name, `""` or `1` to `9`. */
  MachineConfigNameSuffix: 'machineconfiguration.openshift.io/mc-name-suffix',
  /** On KubeletConfigs: the suffix for each pool as a JSON object. The original knows one suffix for all pools. */
  MachineConfigNameSuffixes: 'machineconfiguration.openshift.io/mc-name-suffixes',
  /** Ours, on the template of a MachineDeployment whose machines are replaced: the rendered MachineConfig for new machines. */
  TemplateConfig: Annotations.TemplateConfig,
  /** Ours, with the one above: the time since when machines are replaced for it. A new time is a new rollout to the same config. */
  TemplateSince: 'machineconfiguration.openshift.io/config-replacement-since',
  /** Ours, on MachineDeployments: the pool that paused the deployment. A deployment that a user paused has none, and stays paused. */
  PausedByPool: 'machineconfiguration.openshift.io/paused-by-pool',
  /** Ours, on MachineDeployments: their rollouts wait until new machines have applied the configuration of this pool. */
  AwaitedByPool: Annotations.ConfigAwaitedByPool,
  /** Ours, on Machines that were created for a configuration: their node has applied one. */
  ConfigApplied: Annotations.ConfigApplied,
  /** Ours, on Machines: the state of their node's daemon. */
  ConfigState: 'machineconfiguration.openshift.io/config-state',
  /** Ours, on Machines, RFC 3339: until this time, an unhealthy machine counts as updating, not as Failed. */
  UpdateInProgressUntil: Annotations.UpdateInProgressUntil,
  /** Ours, on Machines: the controller lowered the deletion priority, and restores it later. */
  PriorityLowered: 'machineconfiguration.openshift.io/priority-lowered',
  /** Ours, on Nodes: the controller disabled the scale-down of the autoscaler. */
  ScaleDownDisabledByUs: Annotations.ScaleDownDisabledByMCC,
  /** Ours, on pools: the number of nodes that get the target first. */
  Canary: 'machineconfiguration.openshift.io/canary',
  /** Ours, on pools: how long the canaries must be healthy before the other nodes follow, such as `30m`. */
  CanarySoak: 'machineconfiguration.openshift.io/canary-soak',
} as const;

/** Annotations of Nodes: the protocol between controller and daemon. */
export const NodeAnnotations = {
  /** Written by the daemon: the rendered MachineConfig on the disk. */
  CurrentConfig: 'machineconfiguration.openshift.io/currentConfig',
  /** Written by the UpdateController: the target. */
  DesiredConfig: 'machineconfiguration.openshift.io/desiredConfig',
  /** Written by the daemon: one of {@link DaemonStates}. */
  State: Annotations.ConfigDaemonState,
  /** Written by the daemon: why it is Degraded or Unreconcilable; at most 2000 characters. */
  Reason: Annotations.ConfigDaemonReason,
  /** Written by the daemon: `drain-<config>` or `uncordon-<config>`. */
  DesiredDrain: Annotations.ConfigDaemonDrain,
  /** Written by the drain controller: the last completed `desiredDrain`. */
  LastAppliedDrain: 'machineconfiguration.openshift.io/lastAppliedDrain',
  CurrentImage: 'machineconfiguration.openshift.io/currentImage',
  DesiredImage: 'machineconfiguration.openshift.io/desiredImage',
  /** The configuration of the first boot. */
  FirstPivotConfig: 'machineconfiguration.openshift.io/firstPivotConfig',
  /** Marks that a node that booted into a custom pool has the labels of the pool. */
  CustomPoolLabelsApplied: 'machineconfiguration.openshift.io/customPoolLabelsApplied',
  /** Copied from the ControllerConfig, for the daemon. */
  ControlPlaneTopology: 'machineconfiguration.openshift.io/controlPlaneTopology',
  /** Ours, written by the UpdateController: the wanted certificates, as MachineConfig and hash. They need no rollout. */
  DesiredCertificates: 'machineconfiguration.openshift.io/desired-certificates',
  /** Ours, written by the daemon: the certificates on the disk. */
  CurrentCertificates: 'machineconfiguration.openshift.io/current-certificates',
  /** Human readable, such as `Rebooting`. */
  PostConfigAction: 'machineconfiguration.openshift.io/post-config-action',
} as const;
