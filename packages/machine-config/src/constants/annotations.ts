import { Annotations } from '@mcm/api';

/** Annotations of MachineConfigs, pools and machines. Keys and values of these annotations are from the original. */
export const ConfigAnnotations = {
  /**
   * On generated and rendered MachineConfigs, the value is the hash of the controller's build. A MachineConfig without
   * the hash of a build comes from a user.
   */
  GeneratedByControllerVersion: 'machineconfiguration.openshift.io/generated-by-controller-version',
  /**
   * On the ControllerConfig, the value is the version of the program that wrote the object. This version must equal the
   * version of the controller.
   */
  GeneratedByVersion: 'machineconfiguration.openshift.io/generated-by-version',
  /**
   * On the ControllerConfig and on rendered MachineConfigs, the value is the version of the release. mcm ignores this
   * version.
   */
  ReleaseImageVersion: 'machineconfiguration.openshift.io/release-image-version',
  /** On rendered MachineConfigs, `true` means that a user's MachineConfig set another OS image. */
  OSImageURLOverridden: 'machineconfiguration.openshift.io/os-image-url-overridden',
  /**
   * On KubeletConfigs and ContainerRuntimeConfigs, the value is the suffix of the generated MachineConfig's name, `""`
   * or `1` to `9`.
   */
  MachineConfigNameSuffix: 'machineconfiguration.openshift.io/mc-name-suffix',
  /**
   * On KubeletConfigs, the value is a JSON object with the suffix for each pool. The original has one suffix for all
   * pools.
   */
  MachineConfigNameSuffixes: 'machineconfiguration.openshift.io/mc-name-suffixes',
  /**
   * On the template of a MachineDeployment, the value is the name of the rendered MachineConfig for new machines. Only
   * in mcm.
   */
  TemplateConfig: Annotations.TemplateConfig,
  /**
   * On the template of a MachineDeployment, the value is the time at which the replacement of its machines started. A
   * new time starts a new rollout. Only in mcm.
   */
  TemplateSince: 'machineconfiguration.openshift.io/config-replacement-since',
  /**
   * On MachineDeployments, the value is the name of the pool that paused the deployment. If a paused deployment has no
   * annotation, a user paused it. Only in mcm.
   */
  PausedByPool: 'machineconfiguration.openshift.io/paused-by-pool',
  /**
   * On MachineDeployments, the value is the name of a pool. A rollout continues only after the new machines have
   * applied the configuration of this pool. Only in mcm.
   */
  AwaitedByPool: Annotations.ConfigAwaitedByPool,
  /** On Machines, `true` means that the node has applied a configuration. Only in mcm. */
  ConfigApplied: Annotations.ConfigApplied,
  /** On Machines, the value is the state of the machine-config-daemon on the node of the machine. Only in mcm. */
  ConfigState: 'machineconfiguration.openshift.io/config-state',
  /**
   * On Machines, the value is an RFC 3339 time. Until this time, an unhealthy machine counts as updating and does not
   * become Failed. Only in mcm.
   */
  UpdateInProgressUntil: Annotations.UpdateInProgressUntil,
  /**
   * On Machines, the annotation records that the controller lowered the deletion priority. The controller restores the
   * priority later. Only in mcm.
   */
  PriorityLowered: 'machineconfiguration.openshift.io/priority-lowered',
  /** On Nodes, the annotation records that the controller disabled the scale-down by the autoscaler. Only in mcm. */
  ScaleDownDisabledByUs: Annotations.ScaleDownDisabledByMCC,
  /** On pools, the value is the number of nodes that get the target first. Only in mcm. */
  Canary: 'machineconfiguration.openshift.io/canary',
  /**
   * On pools, the value is the time for which the canaries must be healthy before the controller updates other nodes,
   * such as `30m`. Only in mcm.
   */
  CanarySoak: 'machineconfiguration.openshift.io/canary-soak',
} as const;

/** Annotations of Nodes, with which controller and daemon communicate. */
export const NodeAnnotations = {
  /** On a Node, the daemon writes the name of the rendered MachineConfig that its disk has. */
  CurrentConfig: 'machineconfiguration.openshift.io/currentConfig',
  /**
   * On a Node, the machine-config-controller writes the name of the rendered MachineConfig that the node must apply.
   */
  DesiredConfig: 'machineconfiguration.openshift.io/desiredConfig',
  /** On a Node, the daemon writes its state, one of {@link DaemonStates}. */
  State: Annotations.ConfigDaemonState,
  /** On a Node, the daemon writes why the node is Degraded or Unreconcilable, in at most 2000 characters. */
  Reason: Annotations.ConfigDaemonReason,
  /** On a Node, the daemon writes `drain-<config>` or `uncordon-<config>`. */
  DesiredDrain: Annotations.ConfigDaemonDrain,
  /** On a Node, the drain controller writes the last completed `desiredDrain`. */
  LastAppliedDrain: 'machineconfiguration.openshift.io/lastAppliedDrain',
  /** On a Node, the value is the OS image on the disk, for layered images. mcm only reads the annotation. */
  CurrentImage: 'machineconfiguration.openshift.io/currentImage',
  /**
   * On a Node, the value is the OS image that the node must boot, for layered images; mcm only reads the annotation.
   */
  DesiredImage: 'machineconfiguration.openshift.io/desiredImage',
  /** On a Node, the value is the configuration of the first boot. */
  FirstPivotConfig: 'machineconfiguration.openshift.io/firstPivotConfig',
  /** On a Node that booted into a custom pool, the annotation means that the node has the labels of the pool. */
  CustomPoolLabelsApplied: 'machineconfiguration.openshift.io/customPoolLabelsApplied',
  /** On a Node, the value is the topology of the control plane from the ControllerConfig. */
  ControlPlaneTopology: 'machineconfiguration.openshift.io/controlPlaneTopology',
  /**
   * On a Node, the machine-config-controller writes the version of the certificates that the node must have: the name
   * of their MachineConfig and a hash. Only in mcm.
   */
  DesiredCertificates: 'machineconfiguration.openshift.io/desired-certificates',
  /** On a Node, the daemon writes the version of the certificates on its disk. Only in mcm. */
  CurrentCertificates: 'machineconfiguration.openshift.io/current-certificates',
  /** On a Node, the value is the current action as a text for users, such as `Rebooting`. */
  PostConfigAction: 'machineconfiguration.openshift.io/post-config-action',
} as const;
