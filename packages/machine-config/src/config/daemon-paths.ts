/**
 * The files on a node that the daemon needs after a restart. Except for the journal, the names are the names of the
 * original.
 */
export const DaemonPaths = {
  /**
   * The MachineConfig whose files are all on the disk, as JSON. This file takes precedence over the annotation of the
   * node.
   */
  CurrentConfig: '/etc/machine-config-daemon/currentconfig',
  /**
   * The record of the certificates on the disk. These certificates take precedence over the certificates of a config.
   * Only in mcm.
   */
  Certificates: '/etc/machine-config-daemon/currentcertificates',
  /**
   * The journal of the update in progress. The daemon needs the journal to continue or undo the update. Only in mcm.
   */
  Journal: '/etc/machine-config-daemon/update.json',
  /**
   * The file with the annotations of the first boot. The config server writes the file, and the daemon reads the file
   * once.
   */
  NodeAnnotations: '/etc/machine-config-daemon/node-annotations.json',
  /** The new name of the file with node annotations, after the daemon has read the file. */
  NodeAnnotationsRead: '/etc/machine-config-daemon/node-annotation.json.bak',
  /** Copies of the files of the operating system that a config replaced. */
  Originals: '/etc/machine-config-daemon/orig',
  /** Markers for paths at which the operating system had no file. */
  NoOriginals: '/etc/machine-config-daemon/noorig',
  Units: '/etc/systemd/system',
  VendorUnits: '/usr/lib/systemd/system',
  SshKeys: '/home/core/.ssh/authorized_keys.d/ignition',
  Shadow: '/etc/shadow',
  /**
   * The kubeconfig of the node. The file contains credentials, so only root can read it, even if the config sets a
   * wider mode.
   */
  Kubeconfig: '/etc/kubernetes/kubeconfig',
  /** The kubeconfig that the kubelet writes after it has joined the cluster. */
  JoinedKubeconfig: '/var/lib/kubelet/kubeconfig',
  Registries: '/etc/containers/registries.conf',
} as const;

/** The kubeconfigs that the kubelet reads when it starts. */
export const KUBELET_KUBECONFIG_PATHS: readonly string[] = [DaemonPaths.Kubeconfig, DaemonPaths.JoinedKubeconfig];
