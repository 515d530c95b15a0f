/**
 * The stored data of one object. The JSON text is the stored form. Reads and watches send it unchanged, and writers parse it, so they get
 * a copy. Labels and selectable fields are held next to it, so that selecting costs no parsing.
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
