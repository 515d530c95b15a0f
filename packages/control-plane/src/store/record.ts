/**
 * The stored data of one object. The JSON text is the truth: reads and watches send it as it is, writers parse it (and so
 * get a copy of their own). Labels and selectable fields are held next to it, so that selecting costs no parsing.
 */
export interface StoredRecord {
  readonly namespace: string;
  readonly name: string;
  /** The revision of the write of this record, which is the `metadata.resourceVersion` of the object. */
  readonly revision: number;
  /** The whole object. It starts with `{"apiVersion":…,"kind":…,"metadata":{`, in this order. */
  readonly json: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly fields: Readonly<Record<string, string>> | undefined;
}
