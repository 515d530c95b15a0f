/** The names of the files are the names of the original, except for the journal. */
export const DaemonPaths = {
  CurrentConfig: '/etc/machine-config-daemon/currentconfig',
  /** Only in mcm. */
  Certificates: '/etc/machine-config-daemon/currentcertificates',
  /**
   * The journal of the update in progress, with which the daemon continues or undoes the update after a restart. Only
   * in mcm.
   */
  Journal: '/etc/machine-config-daemon/update.json',
  /** The file with the annotations of the first boot, which the config server writes and the daemon reads once. */
  NodeAnnotations: '/etc/machine-config-daemon/node-annotations.json',
  /** The new name of the file with node annotations, after the daemon has read the file. */
  NodeAnnotationsRead: '/etc/machine-config-daemon/node-annotation.json.bak',
  Originals: '/etc/machine-config-daemon/orig',
  /** Markers for paths at which the operating system had no file. */
  NoOriginals: '/etc/machine-config-daemon/noorig',
  Units: '/etc/systemd/system',
  VendorUnits: '/usr/lib/systemd/system',
  SshKeys: '/home/core/.ssh/authorized_keys.d/ignition',
  Shadow: '/etc/shadow',
  /** The kubeconfig of the node, which only root can read because it contains credentials. */
  Kubeconfig: '/etc/kubernetes/kubeconfig',
  JoinedKubeconfig: '/var/lib/kubelet/kubeconfig',
  Registries: '/etc/containers/registries.conf',
} as const;

export const KUBELET_KUBECONFIG_PATHS: readonly string[] = [DaemonPaths.Kubeconfig, DaemonPaths.JoinedKubeconfig];
