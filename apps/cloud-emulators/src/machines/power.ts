/** The properties of a VM that the simulated operating system reads. */
export interface PoweredVm {
  readonly id: string;
  /** The host name of the operating system. */
  readonly hostname: string;
  readonly providerId: string;
  readonly zone: string;
  readonly machineType: string;
  readonly image: string;
  readonly privateIp: string;
  /** The decoded user data of the VM. */
  readonly userData: string;
  /** The creation time of the VM as RFC 3339. */
  readonly createdAt: string;
}

/** The emulator calls these functions when a VM is powered on or off. */
export interface Power {
  /** @param resumed Whether the VM was already running before the emulator restarted */
  on(vm: PoweredVm, resumed: boolean): void;
  off(id: string): void;
  /**
   * Called when a VM is stopped. A stopped VM keeps its disk. If `halt` is undefined, VMs have no simulated operating
   * system.
   */
  halt?(id: string): void;
  /**
   * Called when the metadata service of a VM reports an interruption. If `notice` is undefined, VMs have no agent that
   * reads notices.
   */
  notice?(id: string, text: string): void;
  /** Returns the newest part of the console output of a VM. If `console` is undefined, VMs have no console output. */
  console?(id: string): string;
}

/** Ignores the power of VMs, because these VMs have no simulated operating system. */
export const noPower: Power = { on: () => undefined, off: () => undefined };
