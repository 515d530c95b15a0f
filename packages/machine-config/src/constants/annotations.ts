import { Annotations } from '@mcm/api';

/** Annotations of MachineConfigs, pools and machines. Keys and values are from the original. */
export const ConfigAnnotations = {
  /**
   * On generated and rendered MachineConfigs: the hash of the controller's build. Without a value, a user wrote the
   * MachineConfig.
   */
  GeneratedByControllerVersion: 'machineconfiguration.openshift.io/generated-by-controller-version',
  /**
   * On the ControllerConfig: the version of the program that wrote the object. The version in the annotation must equal
   * the version of the controller.
   */
  GeneratedByVersion: 'machineconfiguration.openshift.io/generated-by-version',
  /**
   * On the ControllerConfig and on rendered MachineConfigs: the version of the release. The annotation has no effect in
   * mcm.
   */
  ReleaseImageVersion: 'machineconfiguration.openshift.io/release-image-version',
  /** On rendered MachineConfigs: `true` if a user's MachineConfig set another OS image. */
  OSImageURLOverridden: 'machineconfiguration.openshift.io/os-image-url-overridden',
  /**
   * On KubeletConfigs and ContainerRuntimeConfigs: the suffix of the name of the generated MachineConfig, `""` or `1`
   * to `9`.
   */
  MachineConfigNameSuffix: 'machineconfiguration.openshift.io/mc-name-suffix',
  /**
   * On KubeletConfigs: the suffix for each pool, as a JSON object. Only in mcm: the original has one suffix for all
   * pools.
   */
  MachineConfigNameSuffixes: 'machineconfiguration.openshift.io/mc-name-suffixes',
  /**
   * On the template of a MachineDeployment whose machines are replaced: the rendered MachineConfig for new machines.
   * Only in mcm.
   */
  TemplateConfig: Annotations.TemplateConfig,
  /**
   * On the template of a MachineDeployment: the start of the replacement for the rendered MachineConfig. A new time starts a
   * new rollout. Only in mcm.
   */
  TemplateSince: 'machineconfiguration.openshift.io/config-replacement-since',
  /**
   * On MachineDeployments: the pool that paused the deployment. If the annotation is absent, a user paused the
   * deployment, and the deployment stays paused. Only in mcm.
   */
  PausedByPool: 'machineconfiguration.openshift.io/paused-by-pool',
  /**
   * On MachineDeployments: the pool whose configuration new machines must apply before a rollout continues. Only in
   * mcm.
   */
  AwaitedByPool: Annotations.ConfigAwaitedByPool,
  /** On Machines: `true` if the node has applied a configuration. Only in mcm. */
  ConfigApplied: Annotations.ConfigApplied,
  /** On Machines: the state of the daemon of their node. Only in mcm. */
  ConfigState: 'machineconfiguration.openshift.io/config-state',
  /**
   * On Machines, RFC 3339: until the given time, an unhealthy machine counts as updating and does not become Failed.
   * Only in mcm.
   */
  UpdateInProgressUntil: Annotations.UpdateInProgressUntil,
  /** On Machines: the controller lowered the deletion priority, and restores it later. Only in mcm. */
  PriorityLowered: 'machineconfiguration.openshift.io/priority-lowered',
  /** On Nodes: the controller disabled the scale-down by the autoscaler. Only in mcm. */
  ScaleDownDisabledByUs: Annotations.ScaleDownDisabledByMCC,
  /** On pools: the number of nodes that get the target first. Only in mcm. */
  Canary: 'machineconfiguration.openshift.io/canary',
  /** On pools: the time for which the canaries must be healthy before the other nodes are updated, such as `30m`. Only in mcm. */
  CanarySoak: 'machineconfiguration.openshift.io/canary-soak',
} as const;

/** Annotations of Nodes: the protocol between controller and daemon. */
export const NodeAnnotations = {
  /** On a Node, written by the daemon: the rendered MachineConfig on the disk. */
  CurrentConfig: 'machineconfiguration.openshift.io/currentConfig',
  /** On a Node, written by the machine-config-controller: the rendered MachineConfig that the node must apply. */
  DesiredConfig: 'machineconfiguration.openshift.io/desiredConfig',
  /** On a Node, written by the daemon: one of {@link DaemonStates}. */
  State: Annotations.ConfigDaemonState,
  /** On a Node, written by the daemon: why the node is Degraded or Unreconcilable; at most 2000 characters. */
  Reason: Annotations.ConfigDaemonReason,
  /** On a Node, written by the daemon: `drain-<config>` or `uncordon-<config>`. */
  DesiredDrain: Annotations.ConfigDaemonDrain,
  /** On a Node, written by the drain controller: the last completed `desiredDrain`. */
  LastAppliedDrain: 'machineconfiguration.openshift.io/lastAppliedDrain',
  /** On a Node: the OS image on the disk, for layered images. mcm only reads the annotation. */
  CurrentImage: 'machineconfiguration.openshift.io/currentImage',
  /** On a Node: the OS image that the node must boot, for layered images. mcm only reads the annotation. */
  DesiredImage: 'machineconfiguration.openshift.io/desiredImage',
  /** On a Node: the configuration of the first boot. */
  FirstPivotConfig: 'machineconfiguration.openshift.io/firstPivotConfig',
  /** On a Node that booted into a custom pool: the node has the labels of the pool. */
  CustomPoolLabelsApplied: 'machineconfiguration.openshift.io/customPoolLabelsApplied',
  /** On a Node: the topology of the control plane, copied from the ControllerConfig for the daemon. */
  ControlPlaneTopology: 'machineconfiguration.openshift.io/controlPlaneTopology',
  /**
   * On a Node, written by the machine-config-controller: the certificates that the node must have, as MachineConfig and
   * hash. Certificates need no rollout. Only in mcm.
   */
  DesiredCertificates: 'machineconfiguration.openshift.io/desired-certificates',
  /** On a Node, written by the daemon: the certificates on the disk. Only in mcm. */
  CurrentCertificates: 'machineconfiguration.openshift.io/current-certificates',
  /** On a Node: the current action as a text for users, such as `Rebooting`. */
  PostConfigAction: 'machineconfiguration.openshift.io/post-config-action',
} as const;
