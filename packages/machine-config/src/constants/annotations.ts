import { Annotations } from '@mcm/api';

/** Annotations on the wire. Keys and values are the original's. */
export const ConfigAnnotations = {
  /** On generated and rendered MachineConfigs: hash of the controller's build. Absent or empty: a user's MachineConfig. */
  GeneratedByControllerVersion: 'machineconfiguration.openshift.io/generated-by-controller-version',
  /** On the ControllerConfig: version of what wrote it; must equal the controller's own. */
  GeneratedByVersion: 'machineconfiguration.openshift.io/generated-by-version',
  /** On the ControllerConfig and copied to rendered MachineConfigs. Informative. */
  ReleaseImageVersion: 'machineconfiguration.openshift.io/release-image-version',
  /** On rendered MachineConfigs: `true` if a user's MachineConfig set another OS image. */
  OSImageURLOverridden: 'machineconfiguration.openshift.io/os-image-url-overridden',
  /** On KubeletConfigs and ContainerRuntimeConfigs: the suffix of the generated MachineConfig's name, `""` or `1` to `9`. */
  MachineConfigNameSuffix: 'machineconfiguration.openshift.io/mc-name-suffix',
  /** On KubeletConfigs: the suffix for each pool as a JSON object. The original knows one suffix for all pools. */
  MachineConfigNameSuffixes: 'machineconfiguration.openshift.io/mc-name-suffixes',
  /** Ours, on the template of a MachineDeployment whose machines are replaced: the rendered MachineConfig they boot with. */
  TemplateConfig: Annotations.TemplateConfig,
  /** Ours, beside it: since when machines are replaced for it. Another time is another rollout to the same config. */
  TemplateSince: 'machineconfiguration.openshift.io/config-replacement-since',
  /** Ours, on MachineDeployments: the pool whose pause this one's is. What a user paused has none, and stays paused. */
  PausedByPool: 'machineconfiguration.openshift.io/paused-by-pool',
  /** Ours, on MachineDeployments: their rollouts wait until new machines have applied the configuration of this pool. */
  AwaitedByPool: Annotations.ConfigAwaitedByPool,
  /** Ours, on Machines made for a configuration: their node has applied one. */
  ConfigApplied: Annotations.ConfigApplied,
  /** Ours, on Machines: the state of their node's daemon. */
  ConfigState: 'machineconfiguration.openshift.io/config-state',
  /** Ours, on Machines, RFC 3339: until then an unhealthy machine is being updated and not Failed. */
  UpdateInProgressUntil: Annotations.UpdateInProgressUntil,
  /** Ours, on Machines: the rank for deletion was lowered by us, and is given back. */
  PriorityLowered: 'machineconfiguration.openshift.io/priority-lowered',
  /** Ours, on Nodes: the autoscaler was told by us to leave it. */
  ScaleDownDisabledByUs: Annotations.ScaleDownDisabledByMCC,
  /** Ours, on pools: how many nodes get a target first. */
  Canary: 'machineconfiguration.openshift.io/canary',
  /** Ours, on pools: how long the first ones must be fine before the others follow, such as `30m`. */
  CanarySoak: 'machineconfiguration.openshift.io/canary-soak',
} as const;

/** Annotations of Nodes: the whole conversation of controller and daemon. */
export const NodeAnnotations = {
  /** Written by the daemon: the rendered MachineConfig in effect. */
  CurrentConfig: 'machineconfiguration.openshift.io/currentConfig',
  /** Written by the UpdateController: the rendered MachineConfig wanted. */
  DesiredConfig: 'machineconfiguration.openshift.io/desiredConfig',
  /** Written by the daemon: one of {@link DaemonStates}. */
  State: Annotations.ConfigDaemonState,
  /** Written by the daemon: why it is Degraded or Unreconcilable; at most 2000 characters. */
  Reason: Annotations.ConfigDaemonReason,
  /** Written by the daemon: `drain-<config>` or `uncordon-<config>`. */
  DesiredDrain: Annotations.ConfigDaemonDrain,
  /** Written by the drain controller: the last `desiredDrain` fulfilled. */
  LastAppliedDrain: 'machineconfiguration.openshift.io/lastAppliedDrain',
  CurrentImage: 'machineconfiguration.openshift.io/currentImage',
  DesiredImage: 'machineconfiguration.openshift.io/desiredImage',
  /** The configuration of the first boot. */
  FirstPivotConfig: 'machineconfiguration.openshift.io/firstPivotConfig',
  /** Marks that the labels of a custom pool were given to a node that booted into it. */
  CustomPoolLabelsApplied: 'machineconfiguration.openshift.io/customPoolLabelsApplied',
  /** Copied from the ControllerConfig, for the daemon. */
  ControlPlaneTopology: 'machineconfiguration.openshift.io/controlPlaneTopology',
  /** Ours, written by the UpdateController: the certificates wanted, as MachineConfig and hash. They need no rollout. */
  DesiredCertificates: 'machineconfiguration.openshift.io/desired-certificates',
  /** Ours, written by the daemon: the certificates in effect. */
  CurrentCertificates: 'machineconfiguration.openshift.io/current-certificates',
  /** Human readable, such as `Rebooting`. */
  PostConfigAction: 'machineconfiguration.openshift.io/post-config-action',
} as const;
