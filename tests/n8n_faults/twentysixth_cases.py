"""Cases of a further hand, taken over as they were recorded and judged from outside."""

# fmt: off

from collections.abc import Iterator

from .fresh_parts import taken
from .shapes import Case

_CASES = (
    taken("qc-tarifa-zona", "Normalizar envíos", "Calcular costo"),
    taken("qc-diem-van-dau", "Chuẩn hoá điểm", "Tính trung bình"),
    taken("qc-token-vencido", None, "Crear guía", also=("Crear guía",)),
    taken("qc-mantenimiento-html", "Consultar rastreo", "Interpretar", also=("Interpretar",)),
    taken("qc-sub-cliente-perdido", "Build order", "Apply discount", also=("Tier percent",)),
    taken("qc-hoc-phi-con", "Tính học phí", "Soạn thông báo", also=("Kết quả", "Soạn thông báo",)),
    taken("qc-peso-excedido", None, "Detener carga", also=("¿Sobrepeso?", "Carga del camión", "Detener carga",)),
    taken("qc-suma-texto", "totales", "Rechazar compra", also=("Carrito",)),
    taken("qc-xml-ampersand", None, "Leer XML", also=("XML del proveedor", "Leer XML",)),
    taken("qc-ngay-sinh-ghep", "Ghép ngày sinh", "Định dạng ngày", also=("Định dạng ngày",)),
    taken("qc-if-texto-numero", "Prepare cart", "free shipping?", also=("free shipping?",)),
    taken("qc-nodo-no-ejecutado", "Armar correo", "Armar correo", also=("¿Cliente existente?", "Buscar cliente",)),
    taken("qc-agrupar-sin-par", "Agrupar por conductor", "Hoja de ruta", also=("Hoja de ruta",)),
    taken("qc-splitout-cabecera", "solo cabecera", "importe linea", also=("separar lineas",)),
    taken("qc-cp-sin-cero", "Limpiar direcciones", "Pedir etiqueta"),
    taken("qc-url-undefined", "Get parcel", "Get parcel", also=("Take fields",)),
    taken("qc-bao-cao-cham", None, "Máy chủ điểm danh", also=("Máy chủ điểm danh",)),
    taken("qc-puerto-cerrado", None, "API almacén", also=("API almacén",)),
    taken("qc-crypto-thieu", "Ký mã", "Ký mã", also=("Dữ liệu thẻ",)),
    taken("qc-mensaje-propio", "Aplanar", "Validar"),
    taken("qc-monto-perdido", "Solo columnas útiles", None, also=("Total por tienda",)),
    taken("qc-sap-xep-sai-ten", "Xếp hạng", "Xếp hạng"),
    taken("qc-comillas-respuesta", "Responder", "Responder", also=("Buscar en lista",)),
    taken("qc-json-peso-vacio", "Servicio", "Registrar guía", also=("Registrar guía",)),
    taken("qc-sql-merge", "Nối bảng", "Nối bảng"),
    taken("qc-limite-429", None, "Geocoder", also=("Geocoder",)),
    taken("qc-lop-day", None, "Giữ chỗ", also=("Hết chỗ", "Còn chỗ?", "Giữ chỗ",)),
    taken("qc-llaves-flecha", "con iva", "con iva"),
    taken("qc-cada-item-array", "Gán lớp", "Gán lớp"),
    taken("qc-codigo-numero", "Tipos", None, also=("Etiqueta ruta",)),
    taken("qc-stock-tragado", "Warehouse stock", "promise date"),
    taken("qc-form-no-json", None, "Leer alumnos", also=("Formulario", "Leer alumnos",)),
    taken("qc-body-olvidado", "Expand", "Expand", also=("codes",)),
    taken("qc-selector-precio", "Sacar precio", "Limpiar precio", also=("Página competencia",)),
    taken("qc-binario-perdido", "Marcar lote", "Leer CSV"),
    taken("qc-api-422-campo", "Mapear", "Plataforma"),
    taken("qc-ma-hs-so", "Đọc bảng điểm", None, also=("Ghép", "Đọc phụ huynh",)),
    taken("qc-decimal-coma", "sumar", None, also=("convertir", "facturas",)),
    taken("qc-direccion-objeto", "Etiqueta", None),
    taken("qc-estado-mayus", "Normalizar estado", None, also=("¿Entregado?",)),
    taken("qc-inventario-cero", "Consultar inventario", None, also=("Contar",)),
    taken("qc-chao-undefined", "Soạn tin", None),
    taken("qc-bucle-sin-vuelta", "Mark sent", None, also=("Loop", "Report",)),
    taken("qc-fecha-invalida", "Calcular fecha", None, also=("entrega",)),
    taken("qc-precio-primero", "Priced line", None),
    taken("qc-filtro-campo", "Activos", None),
    taken("qc-suma-pegada", "Cộng tiền", None, also=("Thu tiền",)),
    taken("qc-ok-nulos", None, None),
    taken("qc-ok-sin-retrasos", None, None),
    taken("qc-ok-upsert", None, None, also=("Find customer",)),
    taken("qc-ok-json-notas", None, None),
    taken("qc-ok-reintento", None, None),
    taken("qc-ok-left-join", None, None),
    taken("qc-ok-duplicados", None, None),
    taken("qc-ok-apellido-null", None, None),
    taken("qc-ok-cuarentena", None, None, also=("validar fila",)),
    taken("qc-ok-vang-thi", None, None),
    taken("qc-ok-sub-vacio", None, None),
)


def twentysixth_cases() -> Iterator[Case]:
    yield from _CASES
