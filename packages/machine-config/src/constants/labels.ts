/** Labels on the wire. */
export const ConfigLabels = {
  /** On MachineConfigs: the role that pools select by. Rendered ones have none, or a pool would select its own output. */
  Role: 'machineconfiguration.openshift.io/role',
  /** On pools that the product brings. */
  BuiltIn: 'machineconfiguration.openshift.io/mco-built-in',
  /** Prefix of the label by which KubeletConfigs select a pool: `<prefix><pool>`. */
  PoolPrefix: 'pools.operator.machineconfiguration.openshift.io/',
} as const;

/** Labels of Nodes that are read here. */
export const NodeLabels = {
  RolePrefix: 'node-role.kubernetes.io/',
  Zone: 'topology.kubernetes.io/zone',
  OperatingSystem: 'kubernetes.io/os',
} as const;
