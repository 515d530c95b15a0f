/** Where the daemon keeps what it must know after a restart, on the node. Names are the original's, but for the journal. */
export const DaemonPaths = {
  /** JSON of the MachineConfig that the disk has in full; believed before the node's annotation. */
  CurrentConfig: '/etc/machine-config-daemon/currentconfig',
  /** Ours: the certificates that the disk has, which win over those of a config. */
  Certificates: '/etc/machine-config-daemon/currentcertificates',
  /** Ours: an update under way, with all that going on or back takes. Gone when there is none. */
  Journal: '/etc/machine-config-daemon/update.json',
  /** Annotations of the first boot, put there by the config server. Read once. */
  NodeAnnotations: '/etc/machine-config-daemon/node-annotations.json',
  /** What becomes of that file when it was read. */
  NodeAnnotationsRead: '/etc/machine-config-daemon/node-annotation.json.bak',
  /** Files of the system that a config replaced. */
  Originals: '/etc/machine-config-daemon/orig',
  /** Marks of files that the system did not have before. */
  NoOriginals: '/etc/machine-config-daemon/noorig',
  Units: '/etc/systemd/system',
  VendorUnits: '/usr/lib/systemd/system',
  SshKeys: '/home/core/.ssh/authorized_keys.d/ignition',
  Shadow: '/etc/shadow',
  /** Holds credentials: never readable by others, whatever the config says. */
  Kubeconfig: '/etc/kubernetes/kubeconfig',
  /** The kubelet writes this one when it has joined. */
  JoinedKubeconfig: '/var/lib/kubelet/kubeconfig',
  Registries: '/etc/containers/registries.conf',
} as const;

/** Kubeconfigs of the kubelet. It reads them when it starts. */
export const KUBELET_KUBECONFIG_PATHS: readonly string[] = [DaemonPaths.Kubeconfig, DaemonPaths.JoinedKubeconfig];
